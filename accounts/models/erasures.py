"""Erasure reports: the signed accounts of what was erased."""

from django.db import models
from django.utils import timezone

from .people import User


class ErasureReport(models.Model):
    """The signed account of one erasure. The table only grows; a trigger lets nothing but the two links be taken away.

    `document` is what was signed: ids, counts and keyed digests, no names and no texts.
    """

    at = models.DateTimeField(default=timezone.now)
    asked_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="erasures_asked")
    whose = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="erasures")
    document = models.JSONField()
    signature = models.CharField(max_length=128, help_text="Ed25519, in hexadecimal.")
    public_key = models.CharField(max_length=64, help_text="The key it can be checked with, in hexadecimal.")

    class Meta:
        indexes = [
            models.Index(fields=["-at"], name="erasure_by_date"),
            models.Index(fields=["whose", "-at"], name="erasure_of_person"),
        ]

    def __str__(self) -> str:
        return f"Erasure {self.pk}"

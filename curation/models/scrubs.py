"""Texts that were removed from the whole store: when, why, and the hashes by which a restore finds them again."""

import uuid

from django.db import models
from django.utils import timezone

from accounts.models import User
from bigmind.privacy.masking import PrivateModel

WHY_CHARS = 100


class Scrub(PrivateModel):
    """One text that was removed everywhere, or from one user's memory. Of the text there are keyed hashes alone."""

    owned_by = "whose"
    shared_without_owner = True

    key = models.UUIDField(default=uuid.uuid4, unique=True, help_text="The same in every note and every backup.")
    at = models.DateTimeField(default=timezone.now)
    whose = models.ForeignKey(
        User, models.CASCADE, null=True, blank=True, related_name="scrubs", help_text="Empty: of the whole instance."
    )
    by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    why = models.CharField(max_length=WHY_CHARS)
    salt = models.CharField(max_length=64, help_text="Goes into the key of the hashes, with the secret key.")
    check_value = models.CharField(max_length=64, help_text="Tells whether a secret key is the one of the hashes.")
    needles = models.JSONField(default=list, help_text="Lengths and hashes of the forms that the text may have.")
    counts = models.JSONField(default=dict, help_text="How many places of which kind.")

    class Meta:
        indexes = [models.Index(fields=["-at"], name="scrub_by_date")]

    def __str__(self) -> str:
        return f"Scrub {self.pk}: {self.why}"

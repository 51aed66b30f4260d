"""Kept replies: what a write that is sent again with its idempotency key gets."""

from django.db import models

from bigmind.privacy.masking import PrivateModel

from .people import User


class KeptReply(PrivateModel):
    """The reply to a write that carried an idempotency key: the same key again is answered with it."""

    user = models.ForeignKey(User, models.CASCADE, related_name="kept_replies")
    idempotency_key = models.CharField(max_length=200)
    operation = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the operation and its arguments.")
    reply = models.JSONField(null=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "kept replies"
        constraints = [models.UniqueConstraint(fields=["user", "idempotency_key"], name="one_reply_per_key")]
        indexes = [models.Index(fields=["at"], name="kept_reply_at")]

    def __str__(self) -> str:
        return f"{self.operation} ({self.idempotency_key})"

"""What was performed: the usage log, and the replies kept so that a retried write has one effect."""

from django.db import models

from .agents import Agent
from .keys import ApiKey
from .users import User


class Call(models.Model):
    """One operation performed: by whom, over which transport (`door`), its outcome and duration. Never its content."""

    user = models.ForeignKey(User, models.CASCADE, related_name="calls")
    key = models.ForeignKey(ApiKey, models.SET_NULL, null=True, blank=True, related_name="calls")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, blank=True, related_name="calls")
    operation = models.CharField(max_length=100)
    door = models.CharField(max_length=10)
    outcome = models.CharField(max_length=20, help_text="`ok`, or the code of the refusal.")
    milliseconds = models.FloatField()
    tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="What the reply cost, where an agent read it."
    )
    request_id = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["user", "-at"], name="call_of_user"),
            models.Index(fields=["at"], name="call_at"),
        ]

    def __str__(self) -> str:
        return f"{self.operation}: {self.outcome}"


class KeptReply(models.Model):
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

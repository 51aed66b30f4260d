"""Calls, the usage log: which operations were performed."""

from django.db import models

from .keys import ApiKey
from .people import Agent, User


class Call(models.Model):
    """One operation performed: by whom, over which transport, its outcome and duration. Never its content."""

    user = models.ForeignKey(User, models.CASCADE, related_name="calls")
    key = models.ForeignKey(ApiKey, models.SET_NULL, null=True, blank=True, related_name="calls")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, blank=True, related_name="calls")
    operation = models.CharField(max_length=100)
    transport = models.CharField(max_length=10, db_column="door")
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

"""Delivery: a message to a webhook or by e-mail. This table is the queue."""

import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from accounts.models import User


class Channel(models.TextChoices):
    """How a message is sent."""

    WEBHOOK = "webhook"
    EMAIL = "email"


class Delivery(models.Model):
    """One message: retried until it arrives, and kept for 30 days. `trouble` is the last error."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    channel = models.CharField(max_length=10, choices=Channel)
    to = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="deliveries")
    event = models.CharField(max_length=50)
    body = models.JSONField()
    attempts = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(db_default=Now())
    delivered_at = models.DateTimeField(null=True, blank=True)
    given_up_at = models.DateTimeField(null=True, blank=True)
    trouble = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.CheckConstraint(condition=models.Q(channel__in=Channel.values), name="delivery_channel_is_known")
        ]
        indexes = [
            models.Index(
                fields=["not_before"],
                condition=models.Q(delivered_at=None, given_up_at=None),
                name="delivery_waiting",
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} by {self.channel}"

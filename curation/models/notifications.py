"""Notifications: notices in the app, the queue of deliveries, and the frequency of e-mail."""

import uuid
from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from accounts.models import User
from bigmind.privacy.masking import PrivateModel
from knowledge.models import CompanyEntry

from .reviews import Review
from .webhooks import Webhook


class NoticeReason(models.TextChoices):
    """Why someone is notified of an entry. Of several, the first."""

    PROPOSED = "proposed"
    OWNED = "owned"
    COMMENTED = "commented"


class Notice(PrivateModel):
    """One line for one user: what happened to an entry that they proposed, own or commented on.

    `reason` is empty on notices of versions that did not keep it.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="notices")
    entry = models.ForeignKey(CompanyEntry, models.CASCADE, related_name="notices")
    review = models.ForeignKey(Review, models.CASCADE, null=True, blank=True, related_name="notices")
    text = models.CharField(max_length=300)
    reason = models.CharField(max_length=10, choices=NoticeReason, blank=True, db_default="")
    created_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["user", "-created_at"], name="notice_of_user"),
            models.Index(fields=["user"], condition=models.Q(seen_at=None), name="notice_unseen"),
        ]

    def __str__(self) -> str:
        return self.text


class Channel(models.TextChoices):
    """How a message is sent."""

    WEBHOOK = "webhook"
    EMAIL = "email"


class Delivery(PrivateModel):
    """One message: retried until it arrives, and kept for 30 days. `error` is the last one."""

    owned_by = "to"
    shared_without_owner = True

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    channel = models.CharField(max_length=10, choices=Channel)
    to = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="deliveries")
    webhook = models.ForeignKey(
        Webhook,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="deliveries",
        db_index=False,
        help_text="Empty for the one of the environment.",
    )
    event = models.CharField(max_length=50)
    body = models.JSONField()
    attempts = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(db_default=Now())
    delivered_at = models.DateTimeField(null=True, blank=True)
    given_up_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, db_column="trouble")
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
            ),
            models.Index(fields=["webhook"], condition=models.Q(webhook__isnull=False), name="delivery_of_webhook"),
        ]

    def __str__(self) -> str:
        return f"{self.event} by {self.channel}"


class Frequency(models.TextChoices):
    """How often e-mail is sent, if there is news."""

    NEVER = "never"
    AT_ONCE = "at_once"
    DAILY = "daily"
    WEEKLY = "weekly"


PAUSE: dict[str, timedelta] = {
    Frequency.AT_ONCE: timedelta(0),
    Frequency.DAILY: timedelta(days=1),
    Frequency.WEEKLY: timedelta(days=7),
}


class Subscription(models.Model):
    """The choices of one user: how often notices are mailed, and which reasons are muted. Without a row: daily, all."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="subscription")
    frequency = models.CharField(max_length=10, choices=Frequency, default=Frequency.DAILY)
    last_sent_at = models.DateTimeField(null=True, blank=True)
    muted = ArrayField(models.CharField(max_length=10, choices=NoticeReason), default=list, blank=True, db_default=[])

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(frequency__in=Frequency.values), name="subscription_frequency_is_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.frequency}"

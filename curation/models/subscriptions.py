"""Subscription: how often a user gets e-mail."""

from datetime import timedelta

from django.db import models

from accounts.models import User


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
    """The choice of one user. Without a row it is `daily`."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="subscription")
    frequency = models.CharField(max_length=10, choices=Frequency, default=Frequency.DAILY)
    last_sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(frequency__in=Frequency.values), name="subscription_frequency_is_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.frequency}"

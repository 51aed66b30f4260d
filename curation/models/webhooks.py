"""Webhooks that admins add: where decisions are sent, signed."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from accounts.models import User


class Webhook(models.Model):
    """One address that is sent the events it chose. The one of the environment has no row."""

    name = models.CharField(max_length=60, unique=True)
    url = models.CharField(max_length=500)
    secret = models.TextField(help_text="Encrypted.")
    old_secret = models.TextField(blank=True, help_text="Encrypted; signs too until `old_until`.")
    old_until = models.DateTimeField(null=True, blank=True)
    events = ArrayField(models.CharField(max_length=50))
    is_on = models.BooleanField(default=True)
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name

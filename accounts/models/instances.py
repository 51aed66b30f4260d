"""Instance: a BigMind somewhere else, such as on a laptop, that a person registered with this one."""

import uuid
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from .people import User

ONLINE_FOR = timedelta(minutes=15)
"""How long after it was last heard of an instance counts as online: three heartbeats."""


class Instance(models.Model):
    """What another BigMind reports about itself: who runs it, its version, and how much it holds, never the content.

    `identity` is made once at the other end, so that a laptop keeps its row when it is given another name.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="instances")
    identity = models.UUIDField(help_text="What it calls itself, made once at the other end.")
    name = models.CharField(max_length=100)
    version = models.CharField(max_length=50, blank=True)
    url = models.CharField(max_length=200, blank=True, help_text="Where its own pages are, if others can reach them.")
    statistics = models.JSONField(default=dict, blank=True, help_text="Counts, and nothing else.")
    first_seen = models.DateTimeField(default=timezone.now)
    last_seen = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "identity"], name="instance_once_per_user")]
        indexes = [models.Index(fields=["-last_seen"], name="instance_by_last_seen")]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"

    @property
    def status(self) -> str:
        """`online` when it was heard of lately, else `away`."""
        return "online" if timezone.now() - self.last_seen <= ONLINE_FOR else "away"

    @property
    def username(self) -> str:
        """Whose it is."""
        return self.user.username

    @property
    def role(self) -> str:
        return self.user.role

    @property
    def profile_url(self) -> str:
        """The page of the person here."""
        return f"{settings.PUBLIC_URL}/u/{self.user.username}/"

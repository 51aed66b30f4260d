"""Profile: Tier 0, who the user is."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from .users import User


class Profile(models.Model):
    """What every session receives about its user: role, preferences, pinned facts."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="profile")
    role = models.CharField(max_length=500, blank=True, help_text="Job title or engineering role.")
    preferences = models.TextField(blank=True)
    pinned_facts = ArrayField(models.TextField(), default=list, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"Profile of {self.user}"

    @property
    def is_empty(self) -> bool:
        """Whether the user has entered nothing yet."""
        return not (self.role or self.preferences or self.pinned_facts)

"""What an admin has set in the page of settings, in place of the default."""

from django.db import models

from .people import User


class SettingOverride(models.Model):
    """One setting with the value that an admin chose. No row: the environment or the default counts."""

    name = models.CharField(primary_key=True, max_length=60, help_text="As in the environment, without BIGMIND_.")
    value = models.JSONField()
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name

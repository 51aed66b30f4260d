"""What admins set on the page of settings while the version before ran."""

from django.db import models

from .people import User


class SettingOverride(models.Model):
    """One setting with the value that an admin chose. It does not count any more, and is shown with what to do.

    The version before still reads the table while it serves beside this one: the next version drops it. Decision 103.
    """

    name = models.CharField(primary_key=True, max_length=60, help_text="As in the environment, without BIGMIND_.")
    value = models.JSONField()
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name

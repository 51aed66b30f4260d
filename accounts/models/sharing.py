"""Sharing: what a person lets everyone here see of their page."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from bigmind.core.sections import ProfileSection

from .users import User

CHOICES = [(section.value, section.value) for section in ProfileSection]


class Sharing(models.Model):
    """What its owner chose to show. Whoever has no row has not chosen: then the default of the instance holds."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="sharing")
    sections = ArrayField(models.CharField(max_length=20, choices=CHOICES), default=list, blank=True)
    in_directory = models.BooleanField(default=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "sharing"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(sections__contained_by=[section.value for section in ProfileSection]),
                name="sharing_sections_are_known",
            )
        ]

    def __str__(self) -> str:
        return f"What {self.user} shares"

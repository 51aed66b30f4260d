"""Triggers of entries and facts: how far they go, and when one fired."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from accounts.models import User
from bigmind.privacy.masking import PrivateModel
from bigmind.triggers import TRIGGER_CHARS


class TriggerLevel(models.TextChoices):
    """What hooks do when a trigger fires, the mildest first."""

    OFF = "off", "Off"
    SHADOW = "shadow", "Count only"
    ADVISE = "advise", "Advise"
    ASK = "ask", "Ask"
    BLOCK = "block", "Block"


def triggers_column() -> "ArrayField[Any, Any]":
    return ArrayField(
        models.CharField(max_length=TRIGGER_CHARS),
        default=list,
        db_default=[],
        blank=True,
        help_text="At which acts hooks bring it, such as `command: git push --force`.",
    )


def levels_column() -> "models.JSONField[Any, Any]":
    return models.JSONField(
        default=dict, db_default={}, blank=True, help_text="The level of the triggers, under an empty key."
    )


class Firing(PrivateModel):
    """One time that a trigger fired for a user. Curators see of it how many there were."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="firings")
    told_id = models.CharField(max_length=60, help_text="By it the same act counts once, however often it is told.")
    kind = models.CharField(max_length=20, help_text="What fired: company, entry or fact.")
    source_id = models.CharField(max_length=36)
    trigger = models.CharField(max_length=TRIGGER_CHARS)
    level = models.CharField(max_length=10, choices=TriggerLevel)
    brought = models.BooleanField(help_text="Whether its agent was told, or held. What is counted only is not.")
    client = models.CharField(max_length=30)
    conversation = models.CharField(max_length=200, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "told_id", "kind", "source_id"], name="firing_once"),
            models.CheckConstraint(condition=models.Q(level__in=TriggerLevel.values), name="firing_level_is_known"),
        ]
        indexes = [
            models.Index(fields=["kind", "source_id", "-at"], name="firing_of_thing"),
            models.Index(fields=["user", "-at"], name="firing_of_user_by_date"),
        ]

    @property
    def address(self) -> str:
        """The page of what fired."""
        name = {"company": "company-entry", "entry": "kb-entry", "fact": "memory-fact"}[self.kind]
        try:
            return reverse(name, args=[int(self.source_id) if self.kind != "entry" else self.source_id])
        except (ValueError, NoReverseMatch):  # a hook reported something that cannot be
            return ""

    def __str__(self) -> str:
        return f"{self.trigger} {timezone.localtime(self.at):%Y-%m-%d %H:%M}"

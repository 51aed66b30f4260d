"""Entry: one item of the shared knowledge base."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from accounts.models import User

from .anchors import Anchored
from .injection_signs import FLAGGED, SharedKnowledge
from .triggers import levels_column, triggers_column

HEADINGS_CHARS = 200


class EntryType(models.TextChoices):
    """What an entry is."""

    FACT = "fact"
    SUMMARY = "summary"
    TEMPLATE = "template"


class Entry(SharedKnowledge, Anchored):
    """A piece of knowledge that everybody here shares: a fact, a summary or a template."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    content = models.TextField()
    digest = models.CharField(max_length=64, unique=True, editable=False)
    entry_type = models.CharField(max_length=10, choices=EntryType, default=EntryType.FACT)
    roles = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    tags = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    project = models.CharField(max_length=100, blank=True)
    source_file = models.CharField(max_length=500, blank=True)
    source_story = models.CharField(max_length=200, blank=True)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="children")
    similar_to = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="An older one that says nearly this.",
    )
    confidence = models.FloatField(default=1.0)
    metadata = models.JSONField(default=dict, blank=True)
    triggers = triggers_column()
    trigger_levels = levels_column()
    provenance = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        editable=False,
        help_text="Which source made it, under which key, and what the source said. Only imports write it.",
    )
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="entries")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            models.CheckConstraint(condition=models.Q(confidence__range=(0, 1)), name="entry_confidence_0_to_1"),
            models.CheckConstraint(condition=models.Q(entry_type__in=EntryType.values), name="entry_type_is_known"),
        ]
        indexes = [
            GinIndex(fields=["roles"], name="entry_roles"),
            GinIndex(fields=["tags"], name="entry_tags"),
            models.Index(fields=["-created_at", "id"], name="entry_by_date"),
            models.Index(fields=["source_story"], name="entry_story"),
            models.Index(fields=["entry_type", "confidence"], name="entry_by_type"),
            models.Index(fields=["-created_at", "id"], name="entry_flagged", condition=FLAGGED),
        ]

    def __str__(self) -> str:
        return self.content[:80]

    @property
    def headings(self) -> str:
        """The headings above it in its source, as a line; empty for what came from none."""
        above = self.metadata.get("headings")
        return " › ".join(map(str, above))[:HEADINGS_CHARS] if isinstance(above, list) else ""

"""Passage: the unit of search, a piece of text of anything that can be found."""

from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from accounts.models import User


class Kind(models.TextChoices):
    """What a passage is a piece of."""

    FACT = "fact"
    CHUNK = "chunk"
    SUMMARY = "summary"
    NOTE = "note"
    HYPOTHESIS = "hypothesis"
    ENTRY = "entry"


class Lexemes(models.Func):
    """The words of a text as PostgreSQL searches them: stemmed as English, and as they stand.

    The second half finds names, identifiers and other languages, which English stemming would bend.
    """

    template = "(to_tsvector('english', %(expressions)s) || to_tsvector('simple', %(expressions)s))"
    output_field = SearchVectorField()

    def __init__(self, text: str, **extra: Any) -> None:
        super().__init__(models.F(text), **extra)


class Passage(models.Model):
    """A piece of a stored text. What was set aside, has expired or was erased has no passages."""

    kind = models.CharField(max_length=20, choices=Kind)
    source_id = models.CharField(max_length=36, help_text="The id of what it is a piece of.")
    owner = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="passages")
    project = models.CharField(max_length=100, blank=True)
    ordinal = models.PositiveIntegerField(default=0)
    text = models.TextField()
    lexemes = models.GeneratedField(expression=Lexemes("text"), output_field=SearchVectorField(), db_persist=True)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the text.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(kind__in=Kind.values), name="passage_kind_is_known"),
            models.UniqueConstraint(fields=["kind", "source_id", "ordinal"], name="passage_once_per_place"),
        ]
        indexes = [
            GinIndex(fields=["lexemes"], name="passage_lexemes"),
            models.Index(fields=["owner", "kind"], name="passage_of_owner"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.source_id}, piece {self.ordinal}"

"""Replies about the knowledge base."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field, field_validator

from bigmind.database.pagination import ListShape
from knowledge.argument_types import Relevance
from knowledge.shapes.base import Shape, SharedShape


class EntryShape(SharedShape):
    """One entry."""

    id: UUID
    content: str
    entry_type: str
    roles: list[str]
    tags: list[str]
    project: str
    source_file: str
    source_story: str
    parent_id: UUID | None
    similar_to_id: UUID | None = Field(description="An older entry that says nearly the same.")
    confidence: float
    metadata: dict[str, Any]
    anchors: list[str] = Field(description="The code it rests on.")
    freshness: str = Field(description="stale: a check found that this code changed; due: it may have.")
    created_by: str | None
    created_at: datetime
    updated_at: datetime

    @field_validator("created_by", mode="before")
    @classmethod
    def show_name(cls, user: object) -> str | None:
        """Show a person by name, with the user name that nobody else has."""
        return getattr(user, "signature", str(user)) if user else None


class EntriesShape(ListShape[EntryShape]):
    """A page of entries."""


class SimilarEntryShape(Shape):
    """An entry about the same."""

    id: UUID
    relation: str = Field(description="contradicts, same, or related: it may replace it.")
    hints: list[str] = Field(description="What they disagree on.")
    similarity: float
    excerpt: str


class AddedEntryShape(Shape):
    """The entry as stored."""

    id: UUID
    success: bool
    duplicate: bool = Field(description="True: it was known before and not added again.")
    similar: list[SimilarEntryShape] = Field(description="What it contradicts or repeats. Nothing was merged.")
    entry: EntryShape


class EntryHitShape(Shape):
    """A matching entry, and why."""

    entry: EntryShape
    score: float
    excerpt: str
    matched: list[str]
    arms: list[str]
    relevance: Relevance


class EntryHitsShape(Shape):
    """Matching entries, best first."""

    items: list[EntryHitShape]
    total: int
    fallback: bool = Field(description="True: by words alone, because the embedder is down.")
    did_you_mean: list[str] = Field(description="If nothing matches: similar tags and words that exist.")
    notice: str = Field(default="", description="What could not be searched by meaning, and why; empty: all was.")
    weak: bool = Field(description="True: nothing of it matches the question. These are the closest.")

    @property
    def left(self) -> int:
        """How many more were found."""
        return max(0, self.total - len(self.items))


class RebuildShape(Shape):
    """Progress of embedding."""

    total: int
    processed: int
    status: str


class EntryStatsShape(Shape):
    """The knowledge base in figures."""

    total_entries: int
    by_type: dict[str, int]
    by_role: dict[str, int]
    avg_confidence: float | None
    last_updated: datetime | None
    cache_size: int
    waiting: int = Field(description="Passages not embedded yet.")

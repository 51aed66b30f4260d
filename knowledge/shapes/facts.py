"""Replies about facts."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from bigmind.core.pages import ListShape
from knowledge.shapes.base import Shape


class FactShape(Shape):
    """One fact."""

    id: int
    category: str
    fact: str
    confidence: float
    project: str
    source_session_id: UUID | None
    superseded_by_id: int | None
    similar_to_id: int | None = Field(description="An older fact that says nearly the same.")
    created_at: datetime
    deprecated_at: datetime | None
    deprecation_reason: str


class FactsShape(ListShape[FactShape]):
    """A page of facts."""


class SimilarFactShape(Shape):
    """A fact that says nearly the same."""

    id: int
    similarity: float
    excerpt: str


class StoredFactShape(Shape):
    """The fact as it is kept."""

    fact: FactShape
    duplicate: bool = Field(description="True: it was known before and is not stored twice.")
    similar: list[SimilarFactShape] = Field(description="Facts that say nearly the same. Nothing was merged.")

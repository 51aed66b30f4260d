"""Replies about facts."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from bigmind.core.pages import PageShape
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
    created_at: datetime
    deprecated_at: datetime | None
    deprecation_reason: str


class FactsShape(PageShape[FactShape]):
    """A page of facts."""


class StoredFactShape(Shape):
    """The fact as it is kept."""

    fact: FactShape
    duplicate: bool = Field(description="True: it was known before and is not stored twice.")

"""Replies about hypotheses."""

from datetime import datetime
from uuid import UUID

from bigmind.core.pages import ListShape
from knowledge.shapes.base import Shape


class HypothesisShape(Shape):
    """One belief, and how it turned out."""

    id: int
    hypothesis: str
    confidence: float
    status: str
    resolution: str
    project: str
    session_id: UUID | None
    created_at: datetime
    resolved_at: datetime | None
    set_aside_at: datetime | None


class HypothesesShape(ListShape[HypothesisShape]):
    """A page of beliefs."""

"""Replies about hypotheses."""

from datetime import date, datetime
from uuid import UUID

from pydantic import Field

from bigmind.core.private_row_numbers import Number
from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape


class TrackRecordShape(Shape):
    """How beliefs that one agent was about as sure of turned out."""

    agent: str = Field(description="The client; empty: written by hand.")
    confidence: float = Field(description="In tenths.")
    confirmed: int
    decided: int
    share: float = Field(description="Confirmed of decided: near the confidence if the agent is well calibrated.")


class HypothesisShape(Shape):
    """One belief, and how it turned out."""

    id: Number
    hypothesis: str
    confidence: float
    status: str
    resolution: str
    project: str
    session_id: UUID | None
    session_handle: str = Field(description="The handle of its session: S7. Empty: it has none.")
    created_at: datetime
    due_on: date = Field(description="When to ask how it turned out.")
    is_due: bool
    resolved_at: datetime | None
    set_aside_at: datetime | None
    track_record: TrackRecordShape | None = Field(
        default=None, description="After writing: how often the agent was right at similar confidence."
    )


class HypothesesShape(ListShape[HypothesisShape]):
    """A page of beliefs."""

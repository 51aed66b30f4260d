"""Replies about proposals and decisions."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BeforeValidator, Field

from knowledge.shapes.base import Shape
from knowledge.shapes.counts import CountsShape

PersonName = Annotated[str, BeforeValidator(str)]
"""A person, shown by name."""


class ReviewShape(Shape):
    """One step in the life of an entry."""

    number: int
    action: str
    by_name: str
    agent_name: str
    notes: str
    changed: dict[str, list[Any]] = Field(description="Each changed field, with its old and its new value.")
    batch: UUID
    created_at: datetime


class CommentShape(Shape):
    """One contribution to the discussion."""

    id: int
    by_name: str
    text: str
    created_at: datetime


class ForgottenShape(CountsShape):
    """What was forgotten, or would be."""

    dry_run: bool
    facts: int
    chunks: int
    sessions: int
    hypotheses: int
    notes: int
    entries: int
    app_entities: int = Field(description="What it added to app maps.")
    references: int = Field(description="Documentation it imported.")
    questions: int = Field(description="Unanswered questions asked in that time.")
    feedback: int
    comments: int
    proposals: int = Field(description="Approved company entries that wait for a curator again.")
    open_sessions_told: int = Field(description="Open sessions that saw any of it: notified at their next call.")
    ended_sessions_told: int = Field(description="Ended sessions that saw any of it.")
    people_told: int = Field(description="Whose sessions these are.")
    report: int | None = Field(description="The number of the signed report; none after a dry run.")
    look_at: list[str] = Field(description="What the source only changed or proposed: review it yourself.")

"""Replies about proposals and decisions."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BeforeValidator, Field

from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape
from knowledge.shapes.company import CompanyEntryShape
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


class DecisionShape(Shape):
    """The entry after a decision."""

    entry: CompanyEntryShape
    status: str
    review: ReviewShape
    may_contradict: list[str] = Field(description="Approved entries that it may contradict, each with why.")


class RefusedShape(Shape):
    """One entry that was not decided."""

    entry_id: int
    handle: str
    reason: str


class DecisionsShape(Shape):
    """What was decided, and not."""

    decided: list[DecisionShape]
    refused: list[RefusedShape]


class WaitingShape(Shape):
    """One item waiting for a curator."""

    entry: CompanyEntryShape
    why: str = Field(description="proposed, reported, overlapping, unused or due.")
    age_days: int
    claimed_by: PersonName | None
    complaints: int
    comments: int
    relations: list[str] = Field(description="contradiction, duplicate: of pending or approved entries.")
    is_own: bool = Field(description="Whether you proposed it: another curator decides.")


class WaitingPageShape(ListShape[WaitingShape]):
    """A page of the queue."""


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

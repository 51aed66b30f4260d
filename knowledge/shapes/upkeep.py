"""Replies about the memory as a whole."""

from datetime import datetime

from pydantic import Field

from bigmind.core.private_row_numbers import NumberText
from knowledge.shapes.base import Shape
from knowledge.shapes.counts import CountsShape


class StatsShape(CountsShape):
    """How much is remembered."""

    sessions: int
    open_sessions: int
    summaries: int
    facts: int
    deprecated_facts: int
    chunks: int
    hypotheses: int
    open_hypotheses: int
    notes: int
    passages: int
    company_entries: int = Field(description="Approved company knowledge.")
    proposals: int = Field(description="Your own, not decided yet.")
    first_session_at: datetime | None
    database_bytes: int | None = Field(description="Size of the database; in personal mode and for admins.")


class FindingShape(Shape):
    """One result of the health check."""

    check: str
    status: str = Field(description="ok or attention")
    count: int
    says: str
    ids: list[NumberText] = Field(description="The first ten.")


class HealthShape(Shape):
    """All findings of the health check."""

    status: str
    findings: list[FindingShape]


class PrunedShape(Shape):
    """What a vacuum deleted, or would delete."""

    dry_run: bool
    chunks: int
    sessions: int = Field(description="How many sessions have these chunks.")
    before: datetime


class InstructionsShape(Shape):
    """The guide for agents."""

    text: str


class ProfilePageShape(Shape):
    """Where the profile is."""

    url: str
    opened: bool


class RememberedShape(Shape):
    """What was set aside or restored."""

    kind: str
    id: NumberText
    title: str
    in_view: bool

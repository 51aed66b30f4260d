"""Replies about company knowledge."""

from datetime import date, datetime
from uuid import UUID

from pydantic import Field, field_validator

from bigmind.core.pages import PageShape
from knowledge.shapes.base import Shape


class CompanyEntryShape(Shape):
    """One company entry."""

    id: int
    handle: str = Field(description="What to cite it by.")
    category: str
    title: str
    content: str
    importance: int
    status: str
    revision: int
    project: str
    topics: list[str]
    evidence: str
    origin: str
    proposed_by: str | None
    owner: str | None
    decided_by: str | None
    decided_at: datetime | None
    decision_notes: str
    freshness: str = Field(description="verified, due, stale or never.")
    verified_at: datetime | None
    review_after: date | None
    source_session_id: UUID | None
    source_kind: str
    source_id: str
    superseded_by_id: int | None
    created_at: datetime
    updated_at: datetime

    @field_validator("proposed_by", "owner", "decided_by", mode="before")
    @classmethod
    def named(cls, user: object) -> str | None:
        """Show a person by name."""
        return str(user) if user else None


class CompanyEntriesShape(PageShape[CompanyEntryShape]):
    """A page of company entries."""


class CompanyHitShape(Shape):
    """A company entry that was found, and why."""

    entry: CompanyEntryShape
    score: float
    excerpt: str
    matched: list[str]
    arms: list[str]


class CompanyHitsShape(Shape):
    """Company entries that were found, the best first."""

    items: list[CompanyHitShape]
    total: int
    fallback: bool = Field(description="True: by words alone, because the embedder is away.")


class FeedbackShape(Shape):
    """What was said of something."""

    kind: str
    source_id: str
    verdict: str
    note: str
    created_at: datetime


class ToldFeedbackShape(Shape):
    """What was noted, and what follows from it."""

    feedback: FeedbackShape
    consequence: str

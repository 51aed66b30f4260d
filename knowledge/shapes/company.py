"""Replies about company knowledge."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from pydantic import AliasChoices, Field

from bigmind.core.private_row_numbers import NumberText
from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape, SharedShape
from knowledge.shapes.entries import EntryHitShape, EntryHitsShape


def _person(*names: str) -> Any:
    """A person by name: read from an entry, or from a reply that was kept."""
    return Field(validation_alias=AliasChoices(*names))


class CompanyEntryShape(SharedShape):
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
    anchors: list[str] = Field(default=[], description="The code it rests on.")
    triggers: list[str] = Field(description="On which acts hooks show it.")
    trigger_levels: dict[str, str] = Field(description="Their level, under an empty key.")
    origin: str
    proposed_by: str | None = _person("proposer", "proposed_by")
    owner: str | None = _person("keeper", "owner")
    decided_by: str | None = _person("decider", "decided_by")
    decided_at: datetime | None
    decision_notes: str
    freshness: str = Field(description="verified, due, stale or never.")
    verified_at: datetime | None
    review_after: date | None
    source_session_id: UUID | None
    source_kind: str
    source_id: NumberText
    superseded_by_id: int | None
    comes_from: str = Field(description="The company server; empty: written here.")
    as_of: datetime | None = Field(description="When that server last confirmed the same.")
    at_company: str = Field(description="Its status at the company server, if it was sent to one.")
    created_at: datetime
    updated_at: datetime


class CompanyEntriesShape(ListShape[CompanyEntryShape]):
    """A page of company entries."""


class CompanyHitShape(EntryHitShape):
    """A matching company entry, and why."""

    entry: CompanyEntryShape  # type: ignore[assignment]


class CompanyHitsShape(EntryHitsShape):
    """Matching company entries, best first."""

    items: list[CompanyHitShape]  # type: ignore[assignment]


class FeedbackShape(Shape):
    """Feedback on one item."""

    kind: str
    source_id: NumberText
    verdict: str
    note: str
    created_at: datetime

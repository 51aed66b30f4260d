"""Replies about company knowledge."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from pydantic import AliasChoices, Field

from bigmind.core.numbers import NumberText
from bigmind.core.pages import ListShape
from knowledge.shapes.base import Shape, SharedShape
from knowledge.vocabulary import Relevance


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
    triggers: list[str] = Field(description="At which acts hooks bring it.")
    trigger_levels: dict[str, str] = Field(description="How far they go, by team; under the empty name for everyone.")
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
    comes_from: str = Field(description="The company server, or the pack and who signed it; empty: written here.")
    as_of: datetime | None = Field(description="When that server was last known to say the same.")
    at_company: str = Field(description="Where it stands at the company server, if it was sent to one.")
    created_at: datetime
    updated_at: datetime


class CompanyEntriesShape(ListShape[CompanyEntryShape]):
    """A page of company entries."""


class CompanyHitShape(Shape):
    """A company entry that was found, and why."""

    entry: CompanyEntryShape
    score: float
    excerpt: str
    matched: list[str]
    arms: list[str]
    relevance: Relevance


class CompanyHitsShape(Shape):
    """Company entries that were found, the best first."""

    items: list[CompanyHitShape]
    total: int
    fallback: bool = Field(description="True: by words alone, because the embedder is away.")
    notice: str = Field(default="", description="What could not be searched by meaning, and why; empty: all was.")
    weak: bool = Field(description="True: nothing approved matches the question. These only come closest.")
    did_you_mean: list[str] = Field(description="When nothing matches: words of these that look alike.")


class FeedbackShape(Shape):
    """What was said of something."""

    kind: str
    source_id: NumberText
    verdict: str
    note: str
    created_at: datetime


class ToldFeedbackShape(Shape):
    """What was noted, and what follows from it."""

    feedback: FeedbackShape
    consequence: str

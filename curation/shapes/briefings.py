"""Replies with what a curator needs to decide."""

from datetime import datetime

from pydantic import Field

from curation.shapes.reviews import PersonName
from knowledge.shapes.base import Shape
from knowledge.shapes.company import CompanyEntryShape


class NeighbourShape(Shape):
    """An entry similar in meaning or words."""

    entry: CompanyEntryShape
    similarity: float
    by_meaning: bool
    contradictions: list[str] = Field(description="What the two may disagree on.")


class ProposerRecordShape(Shape):
    """Outcomes of the same person's other proposals."""

    approved: int
    rejected: int
    waiting: int


class CompanyLineShape(Shape):
    """A line of the start context."""

    handle: str
    category: str
    title: str
    content: str
    freshness: str
    tokens: int


class EffectShape(Shape):
    """What approval would change in the start context."""

    line: CompanyLineShape
    is_told: bool = Field(description="Whether it would be among the first five.")
    leaving: list[CompanyLineShape] = Field(description="What would no longer be shown.")


class SuspicionShape(Shape):
    """Something that looks dangerous."""

    kind: str
    why: str
    excerpt: str
    is_warning: bool


class ComplaintShape(Shape):
    """A report that it is wrong or outdated."""

    verdict: str
    note: str
    user: PersonName
    created_at: datetime


class GoldenEffectShape(Shape):
    """A golden question."""

    handle: str
    question: str


class TriggerTrialShape(Shape):
    """What the triggers of an entry would have done to the acts of agents on record."""

    acts: int = Field(description="Acts of the last 30 days they were tried on; others' once there are three people.")
    fired: int = Field(description="On how many they would have fired; others' once there are three people.")
    people: int
    is_whole: bool = Field(description="False: those of others are not counted: fewer than three, or none.")


class ClaimShape(Shape):
    """Who is looking at an entry, and until when."""

    entry_id: int
    by: PersonName
    until: datetime

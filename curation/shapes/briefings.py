"""Replies with what a curator needs to decide."""

from datetime import datetime

from pydantic import Field, field_validator

from curation.shapes.reviews import CommentShape, ReviewShape
from knowledge.shapes.base import Shape
from knowledge.shapes.company import CompanyEntryShape


class NeighbourShape(Shape):
    """An entry that is near in meaning or words."""

    entry: CompanyEntryShape
    similarity: float
    by_meaning: bool
    contradictions: list[str] = Field(description="On what the two may disagree.")


class ProposerRecordShape(Shape):
    """What became of the other proposals of the same person."""

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
    leaving: list[CompanyLineShape] = Field(description="What would not be told any more.")


class SuspicionShape(Shape):
    """Something that looks dangerous."""

    kind: str
    why: str
    excerpt: str
    is_warning: bool


class ComplaintShape(Shape):
    """Somebody said that it is wrong or outdated."""

    verdict: str
    note: str
    user: str
    created_at: datetime

    @field_validator("user", mode="before")
    @classmethod
    def show_name(cls, user: object) -> str:
        """Show a person by name."""
        return str(user)


class BriefingShape(Shape):
    """One entry with all that is known about it."""

    entry: CompanyEntryShape
    nearest: list[NeighbourShape] = Field(description="Approved entries that are near; none that is far apart.")
    nearest_waiting: list[NeighbourShape] = Field(description="Proposals that are near and wait, too.")
    same_waiting: int
    record: ProposerRecordShape
    effect: EffectShape
    suspicions: list[SuspicionShape]
    complaints: list[ComplaintShape]
    history: list[ReviewShape]
    comments: list[CommentShape]
    claimed_by: str | None
    fallback: bool

    @field_validator("claimed_by", mode="before")
    @classmethod
    def show_name(cls, user: object) -> str | None:
        """Show a person by name."""
        return str(user) if user else None


class ClaimShape(Shape):
    """Who is looking at an entry, and until when."""

    entry_id: int
    by: str
    until: datetime

    @field_validator("by", mode="before")
    @classmethod
    def show_name(cls, user: object) -> str:
        """Show a person by name."""
        return str(user)

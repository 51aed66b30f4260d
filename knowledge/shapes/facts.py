"""Replies about facts."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from bigmind.core.private_row_numbers import Number
from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape


class FactShape(Shape):
    """One fact."""

    id: Number
    category: str
    fact: str
    confidence: float
    project: str
    source_session_id: UUID | None
    superseded_by_id: Number | None
    similar_to_id: Number | None = Field(description="An older fact that says nearly the same.")
    may_contradict: list[Number] = Field(description="Facts it may contradict; nobody has decided which is correct.")
    valid_from: datetime | None = Field(description="Valid since; null: since it was stored.")
    valid_until: datetime | None = Field(description="No longer valid from then on.")
    triggers: list[str] = Field(description="On which acts hooks show it.")
    anchors: list[str] = Field(description="The code it rests on.")
    freshness: str = Field(description="stale: a check found that this code changed; due: it may have.")
    validity: str = Field(description="When it is valid, in words: “until 2026-03-01”.")
    created_at: datetime
    deprecated_at: datetime | None
    deprecation_reason: str


class CorrectedFactShape(FactShape):
    """The fact as corrected."""

    session_handle: str = Field(description="The handle of its session: S7. Empty: it has none.")
    next_steps: list[str] = Field(description="Calls that replace what says nearly the same as before.")


class FactsShape(ListShape[FactShape]):
    """A page of facts."""

    as_of: str = Field(description="The days asked for: what was true then, even if replaced since.")


class SimilarFactShape(Shape):
    """A fact, or an entry of company knowledge, about the same."""

    kind: str
    id: Number
    handle: str
    relation: str = Field(description="contradicts, same, or related: it may replace it.")
    hints: list[str] = Field(description="What they disagree on.")
    similarity: float
    excerpt: str


class ArchivedFactShape(Shape):
    """The same fact as it was archived before."""

    id: Number
    fact: str
    deprecated_at: datetime
    deprecation_reason: str
    superseded_by_id: Number | None


class StoredFactShape(Shape):
    """The fact as stored."""

    fact: FactShape
    session_handle: str = Field(description="The handle of its session: S7. Empty: it has none.")
    duplicate: bool = Field(description="True: it was known before and not stored again.")
    similar: list[SimilarFactShape] = Field(description="What it contradicts, repeats or may replace.")
    next_steps: list[str] = Field(description="Calls for the case that one replaces another.")
    archived: ArchivedFactShape | None = Field(description="The same fact, archived before: see why.")
    superseded: list[FactShape] = Field(description="Those it replaced.")
    doubt: str = Field(description="Why it is told last at a start: passing, a greeting, …")
    in_profile: str = Field(description="The part of the profile that says nearly the same.")

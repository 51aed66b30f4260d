"""Replies to questions."""

from datetime import datetime
from typing import Literal

from pydantic import Field, computed_field

from bigmind.core.private_row_numbers import NumberText
from bigmind.database.pagination import PageShape
from knowledge.argument_types import Relevance
from knowledge.shapes.base import Shape, SharedShape


class ReckoningShape(Shape):
    """How a score was made."""

    keyword: float | None = Field(description="Score of the words alone; null: none matched.")
    vector: float | None = Field(description="How near the meaning is, as a cosine; null: it has no vector yet.")
    support: float = Field(description="What the neighbours in the same session added to the score.")
    keyword_share: float | None = Field(description="What the words added to the score.")
    vector_share: float | None = Field(description="What the meaning added to the score.")


class HitShape(SharedShape):
    """One result."""

    kind: str
    id: NumberText
    tier: str
    title: str
    excerpt: str
    score: float
    matched: list[str] = Field(description="The words it matched; none: by meaning alone.")
    arms: list[str] = Field(description="What found it: keyword, vector.")
    created_at: datetime
    age_days: int
    relevance: Relevance
    project: str
    owner: str
    approver: str
    session_id: str | None
    session_handle: str = Field(description="Of a session and its exchanges: S7.")
    domain: str | None
    key: str | None
    role: str = Field(description="Who spoke, in an exchange: user, assistant or system.")
    may_contradict: str = Field(description="Another one that it may contradict, as far as words show.")
    validity: str = Field(description="When a fact is valid: “until 2026-03-01”.")
    freshness: str = Field(default="", description="stale: the code it cites changed; due: it may have.")
    alike: int = Field(description="How many more results say the same.")
    explain: ReckoningShape | None


class HitsShape(PageShape[HitShape]):
    """What was found, the best first."""

    weak: bool = Field(description="True: nothing stored matches the question. These are the closest.")
    as_of: str = Field(description="The days it is about; includes what was true then and was replaced since.")
    asked_before: bool = Field(description="True: this conversation already asked this, in vain.")
    did_you_mean: list[str] = Field(description="When nothing matches: words and names that exist and look alike.")
    fallback: bool = Field(description="True: by words alone; `reason` says why.")
    reason: str | None
    notice: str = Field(default="", description="What could not be searched by meaning, and why; empty: all was.")

    @property
    def left(self) -> int:
        """How many more follow these."""
        return max(0, self.total - self.offset - sum(1 + hit.alike for hit in self.items))


class RecollectionsShape(HitsShape):
    """Results of every kind, as far as the budget allows."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def left(self) -> int:
        """How many more follow these."""
        return super().left


class RecallShape(Shape):
    """Results of a question, from everything stored."""

    items: list[HitShape]
    style: str
    state: Literal["answer", "uncertain", "empty"] = Field(
        description="`uncertain`: these come nearest; `empty`: nothing is stored that could be meant."
    )
    did_you_mean: list[str] = Field(description="If it is uncertain: similar words and names that exist.")
    fallback: bool = Field(description="True: by words alone; `reason` says why.")
    reason: str | None
    notice: str = Field(default="", description="What could not be searched by meaning, and why; empty: all was.")
    left: int = Field(description="How many more answers did not fit.")
    asked_before: bool = Field(description="True: this conversation already asked this, in vain.")
    as_of: str = Field(description="The days it is about; includes what was true then and was replaced since.")

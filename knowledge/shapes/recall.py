"""Replies to questions."""

from datetime import datetime

from pydantic import Field, computed_field

from bigmind.core.numbers import NumberText
from bigmind.core.pages import PageShape
from knowledge.shapes.base import Shape, SharedShape
from knowledge.vocabulary import Relevance


class ReckoningShape(Shape):
    """How a score came about."""

    keyword: float | None = Field(description="What the words alone scored; null: none matched.")
    vector: float | None = Field(description="How near the meaning is, as a cosine; null: it has no vector yet.")
    support: float = Field(description="What the neighbours in the same session added to the score.")
    keyword_share: float | None = Field(description="What the words added to the score.")
    vector_share: float | None = Field(description="What the meaning added to the score.")


class HitShape(SharedShape):
    """One thing that was found."""

    kind: str
    id: NumberText
    tier: str
    title: str
    excerpt: str
    score: float
    matched: list[str] = Field(description="The words it was found by; none: by meaning alone.")
    arms: list[str] = Field(description="What found it: keyword, vector.")
    created_at: datetime
    age_days: int
    relevance: Relevance
    project: str
    owner: str
    approver: str
    session_id: str | None
    domain: str | None
    key: str | None
    role: str = Field(description="Who spoke, in what was said: user, assistant or system.")
    contradicted_by: str = Field(description="A newer one that says otherwise: which holds is not settled.")
    validity: str = Field(description="When a fact holds or held: “until 2026-03-01”.")
    freshness: str = Field(default="", description="stale: the code it rests on is otherwise; due: it may be.")
    alike: int = Field(description="How many more were found that say the same.")
    explain: ReckoningShape | None


class HitsShape(PageShape[HitShape]):
    """What was found, the best first."""

    weak: bool = Field(description="True: nothing stored matches the question. These only come closest.")
    as_of: str = Field(description="The days it is about; what held then is there although it was replaced since.")
    asked_before: bool = Field(description="True: this conversation asked the same before, in vain.")
    did_you_mean: list[str] = Field(description="When nothing matches: words and names that exist and look alike.")
    fallback: bool = Field(description="True: by words alone; `reason` says why.")
    reason: str | None
    notice: str = Field(default="", description="What could not be searched by meaning, and why; empty: all was.")

    @property
    def left(self) -> int:
        """How many more there are after these."""
        return max(0, self.total - self.offset - sum(1 + hit.alike for hit in self.items))


class RecollectionsShape(HitsShape):
    """What was found of every kind, as far as the budget reaches."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def left(self) -> int:
        """How many more there are after these."""
        return super().left


class RecallShape(Shape):
    """What a question brought back, from everything that is stored."""

    items: list[HitShape]
    style: str
    unknown: bool = Field(description="True: nothing stored answers the question.")
    did_you_mean: list[str] = Field(description="When it is unknown: words and names that exist and look alike.")
    fallback: bool = Field(description="True: by words alone; `reason` says why.")
    reason: str | None
    notice: str = Field(default="", description="What could not be searched by meaning, and why; empty: all was.")
    left: int = Field(description="How many more answer, and did not fit.")
    asked_before: bool = Field(description="True: this conversation asked the same before, in vain.")
    as_of: str = Field(description="The days it is about; what held then is there although it was replaced since.")

"""Replies to questions."""

from datetime import datetime

from pydantic import Field

from bigmind.core.pages import PageShape
from knowledge.shapes.base import Shape


class HitShape(Shape):
    """One thing that was found."""

    kind: str
    id: str
    title: str
    excerpt: str
    score: float
    matched: list[str] = Field(description="The words it was found by.")
    created_at: datetime
    project: str
    session_id: str | None
    domain: str | None
    key: str | None


class HitsShape(PageShape[HitShape]):
    """What was found, the best first."""

    did_you_mean: list[str] = Field(description="When nothing was found: your own topics and keys that look alike.")

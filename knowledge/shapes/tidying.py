"""Replies about tidying."""

from datetime import datetime

from pydantic import Field

from knowledge.shapes.base import Shape


class SuggestedItemShape(Shape):
    """One item of a suggestion."""

    kind: str
    id: str
    handle: str
    text: str
    project: str
    created_at: datetime


class SuggestionShape(Shape):
    """Something to decide."""

    key: str = Field(description="Its `id` in answers and in `undo`.")
    concern: str
    says: str
    items: list[SuggestedItemShape]
    actions: tuple[str, ...]

"""Replies about tidying."""

from datetime import datetime

from pydantic import Field

from knowledge.shapes.base import Shape


class SuggestedItemShape(Shape):
    """One thing that a suggestion is about."""

    kind: str
    id: str
    handle: str
    text: str
    project: str
    created_at: datetime


class SuggestionShape(Shape):
    """Something to decide."""

    key: str = Field(description="Names it, as `id` in answers and in `undo`.")
    concern: str
    says: str
    items: list[SuggestedItemShape]
    actions: tuple[str, ...]


class AnsweredShape(Shape):
    """What became of one answer."""

    id: str
    action: str
    says: str
    error: str = Field(description="Why it was refused; nothing has changed then.")


class TidyingShape(Shape):
    """What was done now, and what is suggested next."""

    done: list[AnsweredShape]
    suggestions: list[SuggestionShape]
    left: dict[str, int] = Field(description="How many there are, by concern.")

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


class AnsweredShape(Shape):
    """The result of one answer."""

    id: str
    action: str
    says: str
    error: str = Field(description="Why it was refused; then nothing changed.")


class TidyingShape(Shape):
    """What was done, and what is suggested next."""

    done: list[AnsweredShape]
    suggestions: list[SuggestionShape]
    left: dict[str, int] = Field(description="How many there are, by concern.")

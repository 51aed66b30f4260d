"""Replies about golden questions."""

from datetime import datetime

from pydantic import Field

from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape


class GoldenQuestionShape(Shape):
    """A question that must keep finding one item, and whether it does."""

    id: int
    handle: str
    question: str
    kind: str = Field(description="Kind of what it must find.")
    source_id: str = Field(description="The id of what it must find.")
    within: int = Field(description="Among how many of the first answers.")
    place: int | None = Field(description="Its place at the last check; null: not among the first ten.")
    is_lost: bool = Field(description="True: the last check did not find its item.")
    lost_since: datetime | None
    checked_at: datetime | None


class GoldenQuestionsShape(ListShape[GoldenQuestionShape]):
    """Golden questions, the lost ones first."""

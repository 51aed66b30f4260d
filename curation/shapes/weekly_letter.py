"""The reply with a weekly letter."""

from datetime import date

from pydantic import Field

from knowledge.shapes.base import Shape


class LetterLineShape(Shape):
    """One line of a letter, and its evidence."""

    handle: str = Field(description="What agents cite it by; else empty.")
    text: str
    note: str = Field(description="What is said of it.")
    url: str = Field(description="Its page.")
    evidence_url: str = Field(description="The page that shows the note's evidence; empty: the same.")


class LetterPartShape(Shape):
    """Lines of one kind, the most telling first."""

    name: str = Field(description="learned, helped, unknown, false or decide.")
    title: str
    lines: list[LetterLineShape]
    total: int = Field(description="How many there are; the first five are shown.")
    url: str = Field(description="The page with all of them.")


class WeeklyLetterShape(Shape):
    """A summary of seven days. Empty parts are left out."""

    first: date
    last: date
    summary: str
    is_empty: bool
    parts: list[LetterPartShape]
    url: str

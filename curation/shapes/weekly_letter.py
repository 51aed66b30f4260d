"""The reply with a weekly letter."""

from datetime import date

from pydantic import Field

from knowledge.shapes.base import Shape


class LetterLineShape(Shape):
    """One line of a letter, with where its evidence is."""

    handle: str = Field(description="What agents cite it by; empty where it has none.")
    text: str
    note: str = Field(description="What is said of it.")
    url: str = Field(description="Its page.")
    evidence_url: str = Field(description="The page where what is said of it shows; empty: the same.")


class LetterPartShape(Shape):
    """Lines of one kind, the most telling first."""

    name: str = Field(description="learned, helped, unknown, false or decide.")
    title: str
    lines: list[LetterLineShape]
    total: int = Field(description="How many there are; the first five are shown.")
    url: str = Field(description="The page with all of them.")


class WeeklyLetterShape(Shape):
    """What seven days brought. Parts without a line are left out."""

    first: date
    last: date
    summary: str
    is_empty: bool
    parts: list[LetterPartShape]
    url: str

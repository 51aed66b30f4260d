"""Replies with what a curator needs to decide."""

from datetime import datetime

from curation.shapes.reviews import PersonName
from knowledge.shapes.base import Shape


class ProposerRecordShape(Shape):
    """Outcomes of the same person's other proposals."""

    approved: int
    rejected: int
    waiting: int


class SuspicionShape(Shape):
    """Something that looks dangerous."""

    kind: str
    why: str
    excerpt: str
    is_warning: bool


class ComplaintShape(Shape):
    """A report that it is wrong or outdated."""

    verdict: str
    note: str
    user: PersonName
    created_at: datetime


class GoldenEffectShape(Shape):
    """A golden question."""

    handle: str
    question: str


class ClaimShape(Shape):
    """Who is looking at an entry, and until when."""

    entry_id: int
    by: PersonName
    until: datetime

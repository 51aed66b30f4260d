"""Replies about notes."""

from datetime import datetime

from bigmind.core.private_row_numbers import Number
from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape


class NoteShape(Shape):
    """One note."""

    id: Number
    domain: str
    key: str
    content: str
    project: str
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    set_aside_at: datetime | None


class NotesShape(ListShape[NoteShape]):
    """A page of notes."""

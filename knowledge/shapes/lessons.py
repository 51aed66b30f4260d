"""Replies about errors that came up again."""

from datetime import datetime
from uuid import UUID

from pydantic import AliasPath, ConfigDict, Field

from knowledge.shapes.base import Shape


class LessonShape(Shape):
    """An entry about an error, and why it was chosen."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)

    entry_id: UUID
    why: str = Field(description="same error, same message (raised elsewhere), words or meaning.")
    is_weak: bool = Field(description="True: may be about something else.")
    score: float
    lesson: str = Field(description="The passage about it.")
    fix: str = Field(description="What to do; the whole entry, if it names no fix.")
    source_file: str = Field(validation_alias=AliasPath("entry", "source_file"))
    source_story: str = Field(validation_alias=AliasPath("entry", "source_story"))
    author: str
    updated_at: datetime = Field(validation_alias=AliasPath("entry", "updated_at"))
    confidence: float = Field(validation_alias=AliasPath("entry", "confidence"))
    signs: list[str] | None = Field(default=None, validation_alias=AliasPath("entry", "signs"), exclude=True)
    matched: list[str] = Field(description="The words it shares with the error.")


class OwnFixShape(Shape):
    """How your own agents fixed the same error before."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)

    session_id: UUID
    session_handle: str = Field(validation_alias=AliasPath("chunk", "session_handle"))
    created_at: datetime = Field(validation_alias=AliasPath("chunk", "created_at"))
    fix: str = Field(description="What was done to fix the error.")

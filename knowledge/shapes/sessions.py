"""Replies about sessions."""

from datetime import datetime
from uuid import UUID

from pydantic import AliasChoices, Field, field_validator

from bigmind.core.private_row_numbers import Number, NumberText
from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape


class ChunkShape(Shape):
    """One flagged exchange."""

    id: Number
    session_id: UUID
    session_handle: str = Field(description="The handle of its session: S7.")
    project: str = Field(description="The project of its session.")
    seq: int
    role: str
    content: str
    flag_reason: str
    created_at: datetime
    set_aside_at: datetime | None


class SummaryShape(Shape):
    """The narrative of a session."""

    summary: str
    key_facts: list[str]
    code_refs: list[str]


class SessionShape(Shape):
    """One line of the session index."""

    id: UUID
    handle: str = Field(description="What to name it by: S7.")
    project: str
    started_at: datetime
    ended_at: datetime | None
    is_open: bool
    auto_closed: bool
    one_liner: str
    topics: list[str]
    outcome: str
    importance: int
    set_aside_at: datetime | None
    agent: str | None = Field(description="The client it ran in.")

    @field_validator("agent", mode="before")
    @classmethod
    def show_name(cls, agent: object) -> str | None:
        """Show an agent by its name."""
        return str(agent) if agent else None


class SessionsShape(ListShape[SessionShape]):
    """A page of the session index."""


class SessionDetailShape(SessionShape):
    """Everything stored about a session."""

    summary: SummaryShape | None = Field(validation_alias=AliasChoices("narrative", "summary"))
    chunks: list[ChunkShape] = Field(validation_alias=AliasChoices("chunks_in_order", "chunks"))


class ContextShape(Shape):
    """An agent's start context."""

    markdown: str
    tokens: int
    facts_left: int


class ReceiptLineShape(Shape):
    """One item of an earlier session's context, as it is now."""

    kind: str
    id: NumberText
    tokens: int
    why: str
    title: str = Field(description="What it says now.")
    lineage: str = Field(description="Who it is from, or that it was erased.")
    changed: str = Field(description="What changed since.")


class ContextReplyShape(ContextShape):
    """The start context of an agent, or of an earlier session."""

    lines: list[ReceiptLineShape] = Field([], description="Of an earlier session: its items as they are now.")


class OtherAgentShape(Shape):
    """Another active conversation of the same user in the same project."""

    agent: str
    session: str = Field(description="Its handle: S7.")
    since: datetime
    headline: str


class StartedSessionShape(Shape):
    """A session that was just opened."""

    session_id: UUID
    handle: str = Field(description="What to send as session_id along with each write: S7.")
    project: str
    context: ContextShape
    auto_closed: int = Field(description="How many unclosed sessions were closed.")
    others: list[OtherAgentShape] = Field(description="Other active conversations in this project.")
    hand_over: str = Field(description="What the previous session left for this one.")
    how_to_write: str = Field(description="How the user wants memory to be written, as a rule for an agent.")
    notices: list[str] = Field(description="What was withdrawn, and a key that ends soon.")

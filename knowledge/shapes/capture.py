"""Replies about hooks and what they captured."""

from datetime import datetime

from pydantic import Field

from bigmind.core.private_row_numbers import Number
from knowledge.shapes.base import Shape


class CapturePolicyShape(Shape):
    """How a user wants memory to be written."""

    mode: str = Field(description="automatic, ask, manual or read_only.")
    keep_days: int
    never_folders: list[str]


class HookHealthShape(Shape):
    """Hook status of one client."""

    client: str
    version: str
    last_event: str
    ran_at: datetime | None
    brought_at: datetime | None = Field(description="When they last returned text that a model read.")
    failed_at: datetime | None
    failure: str
    is_failing: bool
    late: int = Field(description="How many answers came too late to be read.")
    missed: int = Field(description="How many events BigMind did not take, because it was away or refused them.")


class CaptureStatusShape(CapturePolicyShape):
    """How memory is written, and the state of client hooks."""

    clients: list[HookHealthShape]
    conversations: int = Field(description="How many conversations the page Captured shows.")


class ConversationShape(Shape):
    """One conversation of a client."""

    id: Number
    client: str
    project: str
    started_at: datetime
    last_at: datetime
    ended_at: datetime | None

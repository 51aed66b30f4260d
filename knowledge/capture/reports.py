"""Reports of hooks, whichever client they come from, and what they are answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from bigmind.privacy.screening import drop_private, find_secrets, redact
from bigmind.text.hygiene import REFUSED
from knowledge.models import HookEventName

SAID_CHARS = 8_000
"""Of one message. What is longer is a file or a log that someone pasted."""


@dataclass(frozen=True)
class Said:
    """One message of a conversation."""

    role: str
    text: str


@dataclass(frozen=True)
class Closing:
    """What the hook program read in the client's own record, without a model."""

    files: Sequence[str] = ()
    commits: Sequence[str] = ()
    messages: Sequence[Said] = ()


@dataclass(frozen=True)
class Missed:
    """What went wrong on the user's machine since the last report: answers too late, events that were not taken."""

    late: int = 0
    away: int = 0
    at: datetime | None = None
    reason: str = ""


@dataclass(frozen=True)
class HookReport:
    """One event, as a hook reports it.

    Attributes:
        conversation: What the client calls the conversation.
        source: What a start or an end came of: startup, resume, clear, compact.
        is_frequent: Whether the client reports this so often that nothing costly may be done about it.
        answer: What the agent said last.
        is_going_on: Whether the agent goes on already because a hook asked it to.
        tool_use: The client's id of a call of a tool.
        continues: The conversation that this one was forked from, where the hook knows it.
        event_id: By it the same event counts once, however often it is delivered.
        late: Whether it was delivered after BigMind had been away: nobody waits for the answer.
        is_direct: Whether the client sent it by itself, without the hook program.
        missed: What the hook program could not deliver or did not get in time.
    """

    client: str
    event: HookEventName
    conversation: str
    source: str = ""
    is_frequent: bool = False
    prompt: str = ""
    answer: str = ""
    is_going_on: bool = False
    tool_use: str = ""
    sub_agent: str = ""
    continues: str = ""
    folder: str = ""
    repository: str = ""
    branch: str = ""
    version: str = ""
    event_id: UUID | None = None
    at: datetime | None = None
    late: bool = False
    closing: Closing = Closing()
    is_direct: bool = False
    missed: Missed = Missed()


@dataclass(frozen=True)
class HookReply:
    """What a hook is answered: text that the model reads, or a reason for it to go on."""

    context: str = ""
    go_on: str = ""

    @property
    def brings_something(self) -> bool:
        """Whether the model reads something of it."""
        return bool(self.context or self.go_on)


class Cleaned(NamedTuple):
    """A text as it may be kept, and how many secrets and private passages it held."""

    text: str
    withheld: int


def clean(text: str, limit: int = SAID_CHARS) -> Cleaned:
    """Return a text without private passages, secrets and characters that nothing can store, cut to a limit."""
    # Screened before it is cut: half a secret would pass. More is read than is kept, as what is taken out leaves room.
    public, passages = drop_private(REFUSED.sub("", text[: 4 * limit]))
    secrets = find_secrets(public)
    shown = redact(public) if secrets else public
    return Cleaned(shown[:limit].strip(), passages + len(secrets))

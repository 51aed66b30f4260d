"""What all conversations share: a chat becomes a session, with its beginning and its end.

Whole chats make a poor memory: filler spoils recall. A conversation becomes one session: its title, its dates, what it
was about, and at most four messages word for word, the first two and the last two, each up to 4,000 characters.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.utils import timezone

from bigmind.text.hygiene import cut

from .memory_drafts import DraftRow, SessionDraft
from .words import title_of

KEPT_FIRST, KEPT_LAST = 2, 2
MESSAGE_CHARS = 4_000


class Message(NamedTuple):
    """One message of a conversation."""

    role: str
    text: str
    at: datetime | None


def session_of(
    place: str,
    source_id: str,
    messages: Sequence[Message],
    *,
    title: str,
    program: str,
    started_at: datetime | None,
    ended_at: datetime | None,
    summary: str = "",
) -> DraftRow:
    """Return the session that a conversation becomes. What was asked in it is kept, and is no headline or summary."""
    spoken = [message for message in messages if message.text.strip() and message.role in {"user", "assistant"}]
    question = next((message.text for message in spoken if message.role == "user"), "")
    # Programs leave dates out: the first that there is counts, else the day of the import.
    begun = started_at or next((message.at for message in spoken if message.at), None) or ended_at or timezone.now()
    return DraftRow(
        place,
        SessionDraft,
        {
            "source_id": source_id,
            "one_liner": title_of(title, question),
            "started_at": begun,
            "ended_at": max(begun, ended_at) if ended_at else begun,
            "topics": [program.lower()],
            "summary": summary,
            "chunks": [_chunk(message, len(spoken)) for message in _ends(spoken)],
        },
    )


def _ends(messages: list[Message]) -> list[Message]:
    if len(messages) <= KEPT_FIRST + KEPT_LAST:
        return messages
    return [*messages[:KEPT_FIRST], *messages[-KEPT_LAST:]]


def _chunk(message: Message, messages: int) -> dict[str, Any]:
    return {
        "role": message.role,
        "content": cut(message.text, MESSAGE_CHARS),
        "flag_reason": f"Beginning or end of an imported conversation of {messages} messages.",
        "created_at": message.at,
    }

"""Messages that are longer than a text may be: each becomes several, so that one of them does not refuse an import."""

from collections.abc import Mapping, Sequence
from typing import Any

from bigmind.core.limits import CONTENT_BYTES
from bigmind.privacy.screening.policy import add_notice
from bigmind.text.hygiene import split_to_bytes


def split_long_messages(messages: Sequence[Any]) -> list[Any]:
    """Return messages with several in place of each that is too long, and those after it moved on. Callers say so.

    Messages are as they arrived: mappings with a `content`, and a `seq` where they have a place. What is no such thing
    is returned as it is, to be refused in the usual words.
    """
    parts = [_parts(message) for message in messages]
    if longer := [each for each in parts if len(each) > 1]:
        longest = max(len(each) for each in longer)
        add_notice(f"Messages longer than {CONTENT_BYTES:,} bytes were split: {len(longer)}, into {longest} or fewer.")
    moved = [(each[0]["seq"], len(each) - 1) for each in longer if _has_place(each[0])]
    return [
        {**part, "seq": part["seq"] + number + sum(more for place, more in moved if place < part["seq"])}
        if _has_place(part)
        else part
        for each in parts
        for number, part in enumerate(each)
    ]


def _parts(message: Any) -> list[Any]:
    content = message.get("content") if isinstance(message, Mapping) else None
    # A character has up to four bytes, so most messages need not be encoded to be measured.
    if not isinstance(content, str) or len(content) * 4 <= CONTENT_BYTES:
        return [message]
    texts = [text for text in split_to_bytes(content, CONTENT_BYTES) if text.strip()]
    return [{**message, "content": text} for text in texts] if len(texts) > 1 else [message]


def _has_place(message: Any) -> bool:
    return isinstance(message, Mapping) and type(message.get("seq")) is int

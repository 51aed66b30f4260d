"""Values of an untrusted document, accepted only if they have the right type; and its `$ref`s."""

import json
import re
from typing import Any

from bigmind.text.hygiene import one_line, show_hidden

CUT = "…"
# The elements that product documents write into their descriptions; anything else is left alone.
BREAKS = re.compile(r"<\s*+/?\s*+(?:p|br|li|ul|ol|div|tr|h[1-6])\b[^<>]{0,200}>", re.IGNORECASE)
MARKS = re.compile(r"<\s*+/?\s*+(?:a|b|i|em|strong|span|code|tt|small)\b[^<>]{0,500}>", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n")


def mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return the value if it is a text, without white space around it, else an empty one."""
    return value.strip() if isinstance(value, str) else ""


def texts(value: Any) -> list[str]:
    """Return the texts of a list."""
    return [item for item in listing(value) if isinstance(item, str)]


def prose(value: Any, limit: int) -> str:
    """Return a description as markdown, without the HTML of paragraphs and emphasis, cut at a paragraph or word."""
    plain = MARKS.sub("", BREAKS.sub("\n\n", text(value)[: limit * 4]))
    plain = re.sub(r"[ \t]{0,20}\n(?:[ \t]{0,20}\n){2,}", "\n\n", plain).strip()
    return shorten(plain, limit)


def line(value: Any, limit: int) -> str:
    """Return a text as one line, hidden characters made visible."""
    if isinstance(value, str) and len(value) <= limit and value.isascii() and value.isprintable() and "<" not in value:
        return one_line(value)
    return shorten(show_hidden(one_line(prose(value, limit))), limit)


def first_sentence(value: Any, limit: int) -> str:
    """Return how a description begins."""
    return line(SENTENCE_END.split(prose(value, limit * 2), 1)[0], limit)


def shorten(plain: str, limit: int) -> str:
    """Return a text of at most so many characters, cut between words and marked."""
    if len(plain) <= limit:
        return plain
    head = plain[: limit - 1]
    return (head.rsplit(None, 1)[0] if " " in head[limit // 2 :] else head).rstrip() + CUT


def as_json(value: Any, limit: int) -> str:
    """Return a value as indented JSON, cut after a line and marked."""
    # Without indentation it is several times as fast, and shows whether the rest is worth the time.
    plain = json.dumps(value, ensure_ascii=False)
    if len(plain) > limit * 20:
        return shorten(plain, limit)
    lines = json.dumps(value, ensure_ascii=False, indent=2)
    return lines if len(lines) <= limit else lines[:limit].rpartition("\n")[0] + f"\n{CUT}"

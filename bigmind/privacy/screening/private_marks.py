"""Private marks: what stands between `<private>` and `</private>` is never stored, whichever way a text arrives.

One rule for all: a mark may be written in any case, with spaces and attributes; marks may stand within each other; a
passage that is not closed goes to the end of the text.
"""

import re
from typing import Any

# A mark that the end of the text cuts off begins a passage, too. Linear: a match begins and ends at an angle bracket.
_MARK = re.compile(r"<\s*(?:(?P<closes>/)\s*)?private\b(?:(?P<attributes>[^<>]*)>|\s[^<>]+\Z)", re.IGNORECASE)


def drop_private(text: str) -> tuple[str, int]:
    """Return a text without its private passages, and how many there were. A text without marks stays as it is."""
    if _MARK.search(text) is None:
        return text, 0
    kept, depth, passages, done = "", 0, 0, 0
    for mark in _MARK.finditer(text):
        if mark["closes"]:
            if depth == 1:
                done = mark.end()
            depth = max(0, depth - 1)
        elif (mark["attributes"] or "").rstrip().endswith("/"):
            if not depth:
                kept, done = _join(kept, text[done : mark.start()]), mark.end()
        else:
            if not depth:
                kept, passages = _join(kept, text[done : mark.start()]), passages + 1
            depth += 1
    return (kept.rstrip() if depth else _join(kept, text[done:])), passages


def drop_private_in(value: Any) -> tuple[Any, int]:
    """Return a value without the private passages of all its texts, those in lists and objects too, and their count."""
    if isinstance(value, str):
        return drop_private(value)
    if isinstance(value, list):
        items = [drop_private_in(item) for item in value]
        return [item for item, _ in items], sum(passages for _, passages in items)
    if isinstance(value, dict):
        pairs = {name: drop_private_in(item) for name, item in value.items()}
        return {name: item for name, (item, _) in pairs.items()}, sum(passages for _, passages in pairs.values())
    return value, 0


def _join(before: str, after: str) -> str:
    """Return two parts of a text with one of the spaces that stood on both sides of what was between them."""
    after = after.lstrip(" \t") if not before or before[-1].isspace() else after
    return before + after if after else before.rstrip()

"""Parts: splits a long reply where reading can continue, because clients cut long replies at any place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from bigmind.core.errors import Invalid
from bigmind.text.token_counts import count_tokens

REPLY_TOKENS = 6_000
"""Clients cut longer replies wherever it happens to be (docs/connect.md)."""
PART_TOKENS = REPLY_TOKENS - 100
"""What is left for the text beside the line that says how to go on."""
PART_BYTES = 11_000
"""Of more than 12,000 bytes, notices included, Codex shows head and tail, if it does not know its model."""
SHORT_BYTES = 5_000
"""So many are one part, whatever they say: no script costs a token and a fifth for each byte."""
LAST_PART = 10_000

_FENCE = re.compile(r" {0,3}(`{3,})([^`\n]*)$")
_STRETCH = 1_000
"""This many characters fit into a part even in the script that costs the most tokens."""


@dataclass(frozen=True)
class ReplyPart:
    """One part of a text, and how many characters of the text come after it."""

    text: str
    left: int


def parse_part_number(number: object) -> int:
    """Return the number of a part from an argument; None means the first.

    Raises:
        Invalid: it is not a whole number from 1 to 10,000.
    """
    value = 1 if number is None else number
    # `isdecimal` alone accepts digits of other scripts, and `int` of a very long text takes quadratic time.
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 6:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LAST_PART:
        raise Invalid.of("part", f"must be a number from 1 to {LAST_PART:,}")
    return value


def part_of(text: str, number: int) -> ReplyPart | None:
    """Return one part of a text, counted from 1; None if the text has fewer. Short texts have one part."""
    if len(text.encode()) <= PART_BYTES and count_tokens(text) <= PART_TOKENS:
        return ReplyPart(text, 0) if number == 1 else None
    return next(islice(_parts(text), number - 1, None), None)


def _parts(text: str) -> Iterator[ReplyPart]:
    """Split between lines. A code fence that is open at a cut is closed before it and opened again after it."""
    part, fence, spent, left = [""], "", _Spent(), len(text)
    for line in _lines(text):
        cost = _Spent.on(line)
        # Each part has a line, however long it is: a part without any would lead to the next one without any.
        if part[1:] and spent.leaves_no_room_for(cost):
            yield ReplyPart("".join(part).rstrip() + _closing(fence), left)
            part, spent = [fence], _Spent.on(fence)
        part.append(line)
        spent = spent.plus(cost)
        left -= len(line)
        fence = _fence_after(line, fence)
    yield ReplyPart("".join(part), 0)


@dataclass(frozen=True)
class _Spent:
    tokens: int = 0
    bytes: int = 0

    @classmethod
    def on(cls, text: str) -> "_Spent":
        return cls(count_tokens(text), len(text.encode()))

    def plus(self, other: "_Spent") -> "_Spent":
        return _Spent(self.tokens + other.tokens, self.bytes + other.bytes)

    def leaves_no_room_for(self, other: "_Spent") -> bool:
        total = self.plus(other)
        return total.tokens > PART_TOKENS or total.bytes > PART_BYTES


def _lines(text: str) -> Iterator[str]:
    """Yield lines with their ends; one that is very long in stretches, if possible between words."""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        start = 0
        while len(line) - start > _STRETCH:
            space = line.rfind(" ", start + 1, start + _STRETCH)
            end = space + 1 if space > 0 else start + _STRETCH
            yield line[start:end]
            start = end
        yield line[start:]


def _fence_after(line: str, fence: str) -> str:
    """Return the line that opened the fence in which the next line stands, or nothing."""
    found = _FENCE.match(line.rstrip("\n"))
    if not found:
        return fence
    if not fence:
        return line
    closes = not found[2].strip() and len(found[1]) >= len(_ticks(fence))
    return "" if closes else fence


def _ticks(fence: str) -> str:
    return fence.strip()[: len(fence.strip()) - len(fence.strip().lstrip("`"))]


def _closing(fence: str) -> str:
    return f"\n{_ticks(fence)}" if fence else ""

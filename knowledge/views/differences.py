"""Differences between two texts, line by line, as pages show them."""

from dataclasses import dataclass
from difflib import unified_diff

COMPARED_LINES = 2_000


@dataclass(frozen=True)
class TextChange:
    """One field in which two texts differ, line by line: (sign, text).

    Lines with a `-` are in the first and not in the second, lines with a `+` the other way round.
    """

    label: str
    lines: list[tuple[str, str]]


def compare_lines(before: str, after: str) -> list[tuple[str, str]]:
    """Return the lines in which two texts differ, each with its sign, and those around them."""
    ours, theirs = (text.splitlines()[:COMPARED_LINES] for text in (before, after))
    lines = [*unified_diff(ours, theirs, n=1, lineterm="")][2:]
    return [(line[0].strip(), line[1:]) for line in lines if not line.startswith("@@")]

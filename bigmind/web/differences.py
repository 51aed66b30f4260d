"""Differences between two texts, line by line or word by word, as pages show them."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff

from rapidfuzz.distance import Levenshtein

COMPARED_LINES = 2_000

PAIRS = 300_000
"""Pairs of equal words up to which `SequenceMatcher` takes some tenths of a second at most."""
CELLS = 100_000_000
"""Words of one text times words of the other: beyond, all of it is shown as changed."""
# A word keeps the space after it: else spaces would match each other and fragment a changed sentence.
_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")


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


@dataclass(frozen=True)
class WordRun:
    """Words in a row that are in both texts (`same`), only in the first (`gone`), or only in the second (`new`)."""

    kind: str
    text: str


def words_changed(before: str, after: str) -> list[WordRun]:
    """Return the parts of two texts, in the order in which to read them."""
    ours, theirs = _WORD.findall(before), _WORD.findall(after)
    runs = []
    for step, start, end, new_start, new_end in _steps(ours, theirs):
        if start < end:
            runs.append(WordRun("same" if step == "equal" else "gone", "".join(ours[start:end])))
        if new_start < new_end and step != "equal":
            runs.append(WordRun("new", "".join(theirs[new_start:new_end])))
    return runs


def _steps(ours: Sequence[str], theirs: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """How to turn the first into the second; for texts that repeat the same words, by a quicker comparison.

    `SequenceMatcher` finds what people call unchanged, and looks at each pair of equal words, more than once.
    """
    counts = Counter(theirs)
    if sum(map(counts.__getitem__, ours)) <= PAIRS:
        return SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    if len(ours) * len(theirs) <= CELLS:
        steps = Levenshtein.opcodes(ours, theirs)
        return [(one.tag, one.src_start, one.src_end, one.dest_start, one.dest_end) for one in steps]
    return [("replace", 0, len(ours), 0, len(theirs))]

"""Differences: what changed from one text to another, word by word, and between two revisions of an entry."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from rapidfuzz.distance import Levenshtein

from curation.models import Review
from knowledge.models import CompanyEntry

TOLD = {
    "title": "Title",
    "content": "Text",
    "category": "Category",
    "importance": "Importance",
    "project": "Project",
    "topics": "Topics",
    "evidence": "Evidence",
    "status": "Status",
    "review_after": "To be verified on",
}
"""The fields of an entry whose changes people are shown. Who decided and when is said by the step itself."""

# A word keeps the space behind it: spaces would else match each other and tear a changed sentence to pieces.
PAIRS = 300_000
CELLS = 100_000_000
"""Words of one text times words of the other: beyond, all of it is shown as changed."""
_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")


@dataclass(frozen=True)
class WordRun:
    """Words in a row that are in both texts (`same`), only in the first (`gone`), or only in the second (`new`)."""

    kind: str
    text: str


@dataclass(frozen=True)
class FieldChange:
    """One field that changed."""

    label: str
    before: str
    after: str


def words_changed(before: str, after: str) -> Iterator[WordRun]:
    """Yield the parts of two texts, in the order in which to read them."""
    ours, theirs = _WORD.findall(before), _WORD.findall(after)
    for deed, start, end, new_start, new_end in _steps(ours, theirs):
        if deed == "equal":
            yield WordRun("same", "".join(ours[start:end]))
            continue
        if start < end:
            yield WordRun("gone", "".join(ours[start:end]))
        if new_start < new_end:
            yield WordRun("new", "".join(theirs[new_start:new_end]))


def _steps(ours: Sequence[str], theirs: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """How to make the second of the first; of texts that repeat the same words all over, by a quicker comparison.

    `SequenceMatcher` finds what people call unchanged, and looks at each pair of equal words, more than once.
    """
    counts = Counter(theirs)
    if sum(counts[word] for word in ours) <= PAIRS:
        return SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    if len(ours) * len(theirs) <= CELLS:
        steps = Levenshtein.opcodes(ours, theirs)
        return [(one.tag, one.src_start, one.src_end, one.dest_start, one.dest_end) for one in steps]
    return [("replace", 0, len(ours), 0, len(theirs))]


def changes_in(review: Review) -> list[FieldChange]:
    """Return what one step changed, but for what the name of the step says already."""
    told = TOLD.keys() - {"status", "review_after"}
    return [FieldChange(TOLD[name], *map(_as_text, values)) for name, values in review.changed.items() if name in told]


def changes_since(history: Sequence[Review], revision: int) -> list[FieldChange]:
    """Return what is different now from what an entry was at a revision; nothing when that was never one of its."""
    seen = next((review.after for review in history if review.after.get("revision") == revision), None)
    if seen is None:
        return []
    now = history[-1].after
    pairs = {name: (_as_text(seen.get(name)), _as_text(now.get(name))) for name in TOLD}
    return [FieldChange(TOLD[name], *pair) for name, pair in pairs.items() if pair[0] != pair[1]]


def steps_since(history: Sequence[Review], revision: int) -> list[Review]:
    """Return the steps that were taken after a revision."""
    return [review for review in history if review.after.get("revision", 0) > revision]


def same_text(entry: CompanyEntry, text: str) -> bool:
    """Whether a text is what an entry says, however its lines are ended."""
    return entry.content.strip() == text.replace("\r\n", "\n").strip()


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value).replace("_", " ") if value == "changes_requested" else str(value)

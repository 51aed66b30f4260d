"""Differences between two revisions of an entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class FieldChange:
    """One field that changed."""

    label: str
    before: str
    after: str


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

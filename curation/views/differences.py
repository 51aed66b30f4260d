"""Differences between two revisions of an entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bigmind.core.translation import gettext_lazy
from curation.models import Review
from knowledge.models import CompanyEntry

SHOWN = {
    "title": gettext_lazy("Title"),
    "content": gettext_lazy("Text"),
    "category": gettext_lazy("Category"),
    "importance": gettext_lazy("Importance"),
    "project": gettext_lazy("Project"),
    "topics": gettext_lazy("Topics"),
    "evidence": gettext_lazy("Evidence"),
    "anchors": gettext_lazy("Code"),
    "status": gettext_lazy("Status"),
    "review_after": gettext_lazy("To be verified on"),
}
"""The fields whose changes are shown. The step of the history itself shows who decided, and when."""


@dataclass(frozen=True)
class FieldChange:
    """One field that changed."""

    label: str
    before: str
    after: str


def changes_in(review: Review) -> list[FieldChange]:
    """Return what one step changed, without the fields that its action implies."""
    shown = SHOWN.keys() - {"status", "review_after"}
    return [
        FieldChange(SHOWN[name], *map(_as_text, values)) for name, values in review.changed.items() if name in shown
    ]


def changes_since(history: Sequence[Review], revision: int) -> list[FieldChange]:
    """Return the changes of an entry since a revision; an empty list if it never had that revision."""
    seen = next((review.after for review in history if review.after.get("revision") == revision), None)
    if seen is None:
        return []
    now = history[-1].after
    pairs = {name: (_as_text(seen.get(name)), _as_text(now.get(name))) for name in SHOWN}
    return [FieldChange(SHOWN[name], *pair) for name, pair in pairs.items() if pair[0] != pair[1]]


def steps_since(history: Sequence[Review], revision: int) -> list[Review]:
    """Return the steps that were taken after a revision."""
    return [review for review in history if review.after.get("revision", 0) > revision]


def same_text(entry: CompanyEntry, text: str) -> bool:
    """Whether a text equals that of an entry, apart from line endings."""
    return entry.content.strip() == text.replace("\r\n", "\n").strip()


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value).replace("_", " ") if value == "changes_requested" else str(value)

"""The filters in the address of the queue, its tabs, the page of the list around an entry, and what comes next."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.urls import reverse

from accounts.actor import Actor
from bigmind.core.argument_checks import validate_arguments
from bigmind.core.translation import gettext_lazy
from bigmind.database.pagination import Page
from bigmind.web.forms import Question, choice, search_field
from bigmind.web.pages import Tab
from curation.proposals.queue import (
    QueueItem,
    QueueSummary,
    WaitingCounts,
    counts_in,
    list_queue,
    read_around,
    read_following,
)
from knowledge.models import CompanyCategory, CompanyEntry

WHY = {
    "proposed": gettext_lazy("Proposed"),
    "reported": gettext_lazy("Reported"),
    "overlapping": gettext_lazy("Overlapping"),
    "unused": gettext_lazy("Unused"),
    "due": gettext_lazy("Due"),
}
RISKS = {"flagged": gettext_lazy("Flagged"), "clear": gettext_lazy("Nothing flagged")}
AGES = {
    "1": gettext_lazy("A day or more"),
    "3": gettext_lazy("3 days or more"),
    "7": gettext_lazy("A week or more"),
    "30": gettext_lazy("A month or more"),
}
ORDERS = {
    "importance": gettext_lazy("Most important"),
    "oldest": gettext_lazy("Oldest"),
    "newest": gettext_lazy("Newest"),
}

ROWS = 20
AHEAD = 21
"""How far to look for an entry that no other curator is reviewing."""
_COUNTS, _EVERY_REASON = "_waiting_counts", "_counts_every_reason"
"""Attributes of a request: how much waits is counted once, by the statement that asks what the navigation shows."""


class QueueQuestion(Question):
    """Filters the queue. The reason (`why`) is chosen by tabs, and kept in a hidden field."""

    MORE = ("category", "proposer", "project", "risk", "older_than_days", "order")

    text = search_field(gettext_lazy("Search the queue"))
    why = forms.CharField(required=False, widget=forms.HiddenInput)
    category = choice(CompanyCategory.choices, blank=gettext_lazy("Any"), required=False)
    proposer = forms.CharField(
        required=False, label=gettext_lazy("Proposed by"), help_text=gettext_lazy("A user name.")
    )
    project = forms.CharField(required=False)
    risk = choice(RISKS.items(), blank=gettext_lazy("Any"), required=False)
    older_than_days = choice(AGES.items(), blank=gettext_lazy("Any"), required=False, label=gettext_lazy("Age"))
    order = choice(ORDERS.items(), blank=gettext_lazy("Riskiest"), required=False)

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET)

    @property
    def narrows(self) -> bool:
        """Whether a filter besides the tab is used."""
        return any(name not in {"why", "order", "offset"} for name in self.asked)

    @property
    def why_chosen(self) -> str:
        """The tab that is open."""
        why = str(self.data.get("why", "")).strip()
        return why if why in WHY else "proposed"

    def filters(self) -> dict[str, Any]:
        """Return the filters and the order as arguments of `list_queue`.

        Raises:
            Invalid: a filter in the address is not valid.
        """
        return validate_arguments(list_queue, {name: value for name, value in self.asked.items() if name != "offset"})


def tabs(question: QueueQuestion, summary: QueueSummary) -> list[Tab]:
    """Return a tab for each reason. Filters are not carried over from one tab to another."""
    start, chosen = reverse("curation"), question.why_chosen
    return [
        Tab(
            label,
            start if why == "proposed" else f"{start}?why={why}",
            getattr(summary, why),
            why == chosen,
        )
        for why, label in WHY.items()
    ]


def query_string(request: HttpRequest) -> str:
    """Return the filters as a query string for the next page; an empty string if there are none."""
    values = {name: request.GET.get(name, "").strip() for name in QueueQuestion.base_fields}
    used = {name: value for name, value in values.items() if value}
    return f"?{urlencode(used)}" if used else ""


@dataclass(frozen=True)
class Around:
    """The page of the list that has an entry, and the entries before and after it, which may be on other pages."""

    page: Page[QueueItem]
    previous: CompanyEntry | None
    next: CompanyEntry | None


def around(actor: Actor, entry: CompanyEntry, filters: dict[str, Any]) -> Around:
    """Return the position of an entry in the queue. A decided one keeps the position that it had."""
    place, read = read_around(actor, entry, limit=ROWS, **filters)
    first = place - place % ROWS
    rows = read.items[first - read.offset :][:ROWS]
    here = place - read.offset
    is_listed = here < len(read.items) and read.items[here].entry.pk == entry.pk
    return Around(
        Page(rows, read.total, ROWS, first),
        previous=_entry_at(read.items, here - 1),
        next=_entry_at(read.items, here + is_listed),
    )


def next_after(actor: Actor, entry_id: int, filters: dict[str, Any], *, without: Collection[int] = ()) -> int | None:
    """Return the entry to review next: a following one, else from the top, first those that nobody is reviewing."""
    passed = {entry_id, *without}
    others = [one for one in read_following(actor, entry_id, limit=AHEAD, **filters) if one[0] not in passed]
    free = [number for number, is_free in others if is_free]
    if not free:
        others += [one for one in read_following(actor, None, limit=AHEAD, **filters) if one[0] not in passed]
        free = [number for number, is_free in others if is_free]
    return next(iter([*free, *[number for number, _ in others]]), None)


def address_of(entry_id: int | None, request: HttpRequest) -> str:
    """Return the address of an entry in the queue, or of the queue if it is None. Filters are kept."""
    if entry_id is None:
        return f"{reverse('curation')}{query_string(request)}"
    # The fragment moves the focus to the heading, with and without JavaScript.
    return f"{reverse('curation-entry', args=[entry_id])}{query_string(request)}#entry"


def _entry_at(rows: Sequence[QueueItem], place: int) -> CompanyEntry | None:
    return rows[place].entry if 0 <= place < len(rows) else None


def count_every_reason(request: HttpRequest) -> None:
    """Let the navigation count the queue by every reason: the page shows these counts in its tabs."""
    setattr(request, _EVERY_REASON, True)


def counts_every_reason(request: HttpRequest) -> bool:
    """Whether the navigation of a curator counts the queue by every reason on this page."""
    return bool(getattr(request, _EVERY_REASON, False))


def keep_counts(request: HttpRequest, row: Mapping[str, Any]) -> WaitingCounts:
    """Keep what was counted for the page, and return it."""
    counts = counts_in(row)
    setattr(request, _COUNTS, counts)
    return counts


def counts_of(request: HttpRequest) -> QueueSummary:
    """Return the counts by every reason, once the navigation of the page has counted them."""
    counts: QueueSummary = getattr(request, _COUNTS)
    return counts

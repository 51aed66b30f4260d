"""Positions in the queue: the page of the list around an entry, and the entry that comes next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from accounts.actor import Actor
from bigmind.core.pages import Page
from curation.proposals.queue import QueueItem, list_queue, place_of
from knowledge.models import CompanyEntry

from .queue_queries import query_string

ROWS = 20
AHEAD = 21
"""How far to look for an entry that no other curator is reviewing."""


@dataclass(frozen=True)
class Around:
    """The page of the list that has an entry, and the entries before and after it, which may be on other pages."""

    page: Page[QueueItem]
    previous: CompanyEntry | None
    next: CompanyEntry | None


def around(actor: Actor, entry: CompanyEntry, filters: dict[str, Any]) -> Around:
    """Return the position of an entry in the queue. A decided one keeps the position that it had."""
    place = place_of(entry, **filters)
    first = place - place % ROWS
    read = list_queue(actor, **filters, limit=ROWS + 2, offset=max(0, first - 1))
    rows = read.items[first - read.offset :][:ROWS]
    here = place - read.offset
    is_listed = here < len(read.items) and read.items[here].entry.pk == entry.pk
    return Around(
        Page(rows, read.total, ROWS, first),
        previous=_entry_at(read.items, here - 1),
        next=_entry_at(read.items, here + is_listed),
    )


def next_after(actor: Actor, entry: CompanyEntry, filters: dict[str, Any]) -> CompanyEntry | None:
    """Return the entry to review next: a following one, else from the top, first those that nobody is reviewing."""
    following = list_queue(actor, **filters, limit=AHEAD, offset=place_of(entry, **filters)).items
    others = [one for one in following if one.entry.pk != entry.pk]
    if not any(_is_free(one, actor) for one in others):
        from_the_top = list_queue(actor, **filters, limit=AHEAD).items
        others += [one for one in from_the_top if one.entry.pk != entry.pk]
    free = [one for one in others if _is_free(one, actor)]
    return next((one.entry for one in (*free, *others)), None)


def address_of(entry: CompanyEntry | None, request: HttpRequest) -> str:
    """Return the address of an entry in the queue, or of the queue if it is None. Filters are kept."""
    if entry is None:
        return f"{reverse('curation')}{query_string(request)}"
    # The fragment moves the focus to the heading, with and without JavaScript.
    return f"{reverse('curation-entry', args=[entry.pk])}{query_string(request)}#entry"


def _entry_at(rows: Sequence[QueueItem], place: int) -> CompanyEntry | None:
    return rows[place].entry if 0 <= place < len(rows) else None


def _is_free(waiting: QueueItem, actor: Actor) -> bool:
    return waiting.claimed_by in {None, actor.user}

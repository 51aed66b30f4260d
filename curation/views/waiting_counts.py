"""How much waits, counted once for each request, by the statement that asks what the navigation shows."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from curation.proposals.queue import QueueSummary, WaitingCounts, counts_in

_NAME, _EVERY_REASON = "_waiting_counts", "_counts_every_reason"


def count_every_reason(request: HttpRequest) -> None:
    """Let the navigation count the queue by every reason: the page shows these counts in its tabs."""
    setattr(request, _EVERY_REASON, True)


def counts_every_reason(request: HttpRequest) -> bool:
    """Whether the navigation of a curator counts the queue by every reason on this page."""
    return bool(getattr(request, _EVERY_REASON, False))


def keep_counts(request: HttpRequest, row: Mapping[str, Any]) -> WaitingCounts:
    """Keep what was counted for the page, and return it."""
    counts = counts_in(row)
    setattr(request, _NAME, counts)
    return counts


def counts_of(request: HttpRequest) -> QueueSummary:
    """Return the counts by every reason, once the navigation of the page has counted them."""
    counts: QueueSummary = getattr(request, _NAME)
    return counts

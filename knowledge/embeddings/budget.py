"""The daily budget of paid embedders, in tokens: a run-away import may cost a day's money, not a month's.

The meter is in the cache. Whoever keeps it beyond a restart stores `spent_today()` after a batch, and gives it back
with `remember_spent` before the first.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from django.conf import settings
from django.core.cache import cache

from bigmind.core.tokens import count_tokens
from knowledge.embeddings.providers import Provider
from knowledge.embeddings.vectors import EmbedderError

SHARE_OF_BATCHES = 0.95
"""What an import may use of the budget: the rest is for questions, or a large import would end search by meaning."""

_KEPT = 2 * 24 * 3600


class BudgetSpent(EmbedderError):
    """Today's tokens are spent. `retry_after` is the seconds until midnight UTC, when there are new ones."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("The embedding budget of today is spent (BIGMIND_EMBEDDING_DAILY_TOKENS).")
        self.retry_after = retry_after


def pay(embedder: Provider, texts: Sequence[str], *, share: float = 1.0) -> None:
    """Spend what these texts cost, where embedding them costs anything.

    Raises:
        BudgetSpent: this share of the budget is used up.
    """
    if embedder.is_paid:
        spend(sum(map(count_tokens, texts)), share=share)


def spend(tokens: int, *, share: float = 1.0) -> None:
    """Spend tokens of today's budget. Those that cross the line still pass: else a small budget would never be used.

    Raises:
        BudgetSpent: the line was crossed before. Nothing is spent.
    """
    limit = settings.EMBEDDING_DAILY_TOKENS * share
    spent_before = _add(tokens) - tokens
    if limit and spent_before >= limit:
        _add(-tokens)
        raise BudgetSpent(_seconds_left())


def spent_today() -> int:
    """Return how many tokens were spent since midnight UTC."""
    return int(cache.get(_meter(), 0))


def remember_spent(tokens: int) -> None:
    """Tell a meter that may have begun anew what was already spent today. What it knows itself is not added."""
    if (forgotten := tokens - spent_today()) > 0:
        _add(forgotten)


def _add(tokens: int) -> int:
    cache.add(_meter(), 0, timeout=_KEPT)
    try:
        return int(cache.incr(_meter(), tokens))
    except ValueError:  # It was lost between the two lines: a cache may do that.
        return tokens


def _meter() -> str:
    return f"embedding-tokens:{datetime.now(UTC).date()}"


def _seconds_left() -> int:
    now = datetime.now(UTC)
    midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
    return int((midnight - now).total_seconds()) + 1

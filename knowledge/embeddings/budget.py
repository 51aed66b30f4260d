"""The daily budget of paid embedders, in tokens: a run-away import may cost a day's money, not a month's.

The meter is a row for each day, so that web and workers spend from the same budget, and a restart forgets nothing.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from math import ceil

from django.conf import settings
from django.db import connection

from bigmind.core.tokens import count_tokens
from knowledge.embeddings.providers import Embedder
from knowledge.embeddings.vectors import EmbedderError
from knowledge.models import EmbeddingDay

SHARE_OF_BATCHES = 0.95
"""What an import may use of the budget: the rest is for questions, or a large import would end search by meaning."""

# One statement: of two processes at the line, the second sees what the first has spent.
_SPEND = """
INSERT INTO knowledge_embeddingday AS today (day, tokens) VALUES (%(day)s, %(tokens)s)
ON CONFLICT (day) DO UPDATE SET tokens = today.tokens + EXCLUDED.tokens
WHERE %(limit)s = 0 OR today.tokens < %(limit)s
RETURNING tokens
"""


class BudgetSpent(EmbedderError):
    """Today's tokens are spent. `retry_after` is the seconds until midnight UTC, when there are new ones."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("The embedding budget of today is spent (BIGMIND_EMBEDDING_DAILY_TOKENS).")
        self.retry_after = retry_after


def pay(embedder: Embedder, texts: Sequence[str], *, share: float = 1.0) -> None:
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
    limit = ceil(settings.EMBEDDING_DAILY_TOKENS * share)
    with connection.cursor() as cursor:
        cursor.execute(_SPEND, {"day": _today(), "tokens": tokens, "limit": limit})
        if cursor.fetchone() is None:
            raise BudgetSpent(_seconds_left())


def tokens_today() -> int:
    """Return how many tokens were spent since midnight UTC."""
    return EmbeddingDay.objects.filter(day=_today()).values_list("tokens", flat=True).first() or 0


def _today() -> date:
    return datetime.now(UTC).date()


def _seconds_left() -> int:
    midnight = datetime.combine(_today() + timedelta(days=1), time(), UTC)
    return int((midnight - datetime.now(UTC)).total_seconds()) + 1

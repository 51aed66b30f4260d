"""The daily budget of paid embedders and rerankers, in tokens: a run-away import costs a day's money at most.

The meter is one row for each day, so that web and workers share the budget, and a restart does not reset it.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from math import ceil

from django.conf import settings
from django.db import connection

from bigmind.text.token_counts import count_tokens
from knowledge.embeddings.providers import EmbedderError
from knowledge.models import EmbeddingDay

SHARE_OF_BATCHES = 0.95
"""The share of the budget that imports and rerankers may use. The rest is for questions: otherwise one large import
would end search by meaning for the day."""

# Check and update in one statement: of two processes at the limit, the second sees what the first has spent.
_SPEND = """
INSERT INTO knowledge_embeddingday AS today (day, tokens) VALUES (%(day)s, %(tokens)s)
ON CONFLICT (day) DO UPDATE SET tokens = today.tokens + EXCLUDED.tokens
WHERE %(limit)s = 0 OR today.tokens < %(limit)s
RETURNING tokens
"""


class BudgetSpent(EmbedderError):
    """Today's tokens are spent. `retry_after` is the seconds until midnight UTC, when the budget starts again."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("The embedding budget of today is spent (BIGMIND_EMBEDDING_DAILY_TOKENS).")
        self.retry_after = retry_after


def pay(texts: Sequence[str], *, share: float = 1.0) -> None:
    """Charge these texts to today's budget.

    Args:
        share: The part of the budget that this caller may use up.

    Raises:
        BudgetSpent: that part is used up. Nothing is charged.
    """
    spend(sum(map(count_tokens, texts)), share=share)


def spend(tokens: int, *, share: float = 1.0) -> None:
    """Charge tokens to today's budget. A limit of 0 means no limit.

    The batch that crosses the limit still passes: otherwise a budget smaller than a batch could never be used.

    Raises:
        BudgetSpent: the limit was reached before. Nothing is charged.
    """
    limit = ceil(settings.EMBEDDING_DAILY_TOKENS * share)
    with connection.cursor() as cursor:
        cursor.execute(_SPEND, {"day": _today(), "tokens": tokens, "limit": limit})
        if cursor.fetchone() is None:
            raise BudgetSpent(_seconds_left())


def tokens_today() -> int:
    """Return how many tokens were charged since midnight UTC."""
    return EmbeddingDay.objects.filter(day=_today()).values_list("tokens", flat=True).first() or 0


def _today() -> date:
    return datetime.now(UTC).date()


def _seconds_left() -> int:
    midnight = datetime.combine(_today() + timedelta(days=1), time(), UTC)
    return int((midnight - datetime.now(UTC)).total_seconds()) + 1

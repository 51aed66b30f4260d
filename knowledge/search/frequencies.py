"""How often words occur, by PostgreSQL's own statistics: which words of a question are worth looking up."""

from collections.abc import Sequence
from time import monotonic

from django.db import connection

MATCHED = 5_000
"""About how many passages of a large scope are ranked for a question."""
BELIEVED_SECONDS = 600.0

_COMMON_WORDS = """
SELECT word, frequency FROM pg_stats,
    unnest(most_common_elems::text::text[], most_common_elem_freqs[1:cardinality(most_common_elems::text::text[])])
        AS common(word, frequency)
WHERE schemaname = current_schema() AND tablename = 'knowledge_passage' AND attname = 'lexemes'
"""


class _Statistics:
    """What was read last, and when: reading them takes as long as half a search."""

    shares: dict[str, float] = {}
    read_at = float("-inf")


def telling_words(lexemes: Sequence[str], *, passages: int) -> list[str]:
    """Return the rarest of these words: all that together stand in about 5,000 of so many passages, but at least one.

    A question of ten words has some that stand in most passages; looking those up would rank nearly everything, for a
    word that tells nothing. What is found by the rare words is still ranked by all of them.
    """
    shares = _shares()
    # A word that is not among the thousand most common ones is rarer than they are.
    uncommon = min(shares.values(), default=0.0) / 2
    chosen: list[str] = []
    left = float(MATCHED)
    for lexeme in rarest(lexemes):
        left -= shares.get(lexeme, uncommon) * passages
        if chosen and left < 0:
            break
        chosen.append(lexeme)
    return chosen


def forget_statistics() -> None:
    """Read the statistics anew before the next search: they have just changed much."""
    _Statistics.read_at = float("-inf")


def rarest(lexemes: Sequence[str]) -> list[str]:
    """Return the words in the order of how much they tell: the rarest first, of those not known the longest."""
    shares = _shares()
    return sorted(lexemes, key=lambda lexeme: (shares.get(lexeme, 0.0), -len(lexeme), lexeme))


def known_counts(lexemes: Sequence[str], *, passages: int) -> list[float | None]:
    """Return in about how many of so many passages each word stands; of those that are not common, nothing is known."""
    shares = _shares()
    return [shares[lexeme] * passages if lexeme in shares else None for lexeme in lexemes]


def _shares() -> dict[str, float]:
    """In what part of all passages each common word stands, as of the last ANALYZE."""
    if monotonic() - _Statistics.read_at > BELIEVED_SECONDS:
        with connection.cursor() as cursor:
            cursor.execute(_COMMON_WORDS)
            _Statistics.shares = dict(cursor.fetchall())
        _Statistics.read_at = monotonic()
    return _Statistics.shares

"""Word frequencies: which words of a question are worth looking up in a scope that is large.

Counted over one scope at a time, the user's own or the shared one. Frequencies over all users' passages would disclose
whether a word occurs in someone else's memory: by which words are left out, and by how much each weighs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from uuid import UUID

from bigmind.database.replicas import read_cursor
from knowledge.models.passages import SAMPLE
from knowledge.search.filters import Scope, scope_of

MATCHED = 5_000
"""About how many passages of a large scope are ranked for a question. More would take longer than a search may: at
100,000 passages, ranking all that have any of the words took 131 ms, ranking so many 7 ms. Decision 11."""
MOST_WORDS = 60
"""Words of a question that are looked up: the bits of a bigint hold one each, and no real question has more."""
SAMPLED = 2_000
"""Passages of a large scope that are sampled. A word in one of a hundred passages occurs in twenty of these."""
COMMON_WORDS = 1_000
CACHE_SECONDS = 600.0
"""Counting takes 0.3 s at 100,000 passages."""
CACHED_SCOPES = 100
"""Scopes whose word frequencies a process caches."""

# Sampled by the digest of the text, so that the same passages give the same sample whatever others store.
_COMMON_WORDS = f"""
WITH sample AS (
    SELECT passage.lexemes FROM knowledge_passage AS passage
    WHERE {{scope}} AND passage.digest < '{SAMPLE}' ORDER BY passage.digest LIMIT {SAMPLED}
)
SELECT word.lexeme, count(*)::float8 / (SELECT count(*) FROM sample)
FROM sample, unnest(sample.lexemes) AS word
GROUP BY word.lexeme ORDER BY count(*) DESC, word.lexeme LIMIT {COMMON_WORDS}
"""


@dataclass(frozen=True)
class _Statistics:
    """The share of a scope's passages that contain each common word, and when it was counted."""

    shares: dict[str, float]
    read_at: float


_known: dict[UUID | None, _Statistics] = {}


def selective_words(lexemes: Sequence[str], scope: Scope) -> list[str]:
    """Return the rarest of these words: as many as occur in about 5,000 passages of a scope together, at least one.

    A question of ten words has some that occur in most passages; looking those up would rank nearly everything by
    words that distinguish nothing. What the rare words find is still ranked by all of them.
    """
    shares = _shares(scope)
    # A word that is not among the thousand most common ones is rarer than they are.
    uncommon = min(shares.values(), default=0.0) / 2
    chosen: list[str] = []
    left = float(MATCHED)
    for lexeme in rarest(lexemes, scope):
        left -= shares.get(lexeme, uncommon) * scope.passages
        if chosen and left < 0:
            break
        chosen.append(lexeme)
    return chosen


def forget_statistics() -> None:
    """Clear the cached frequencies, so that the next search counts again. For imports that change much at once."""
    _known.clear()


def rarest(lexemes: Sequence[str], scope: Scope) -> list[str]:
    """Return the words, the rarest first; of those without a frequency, the longest first.

    A small scope has no frequencies: counting its words would take longer than looking all of them up.
    """
    shares = _shares(scope)
    return sorted(lexemes, key=lambda lexeme: (shares.get(lexeme, 0.0), -len(lexeme), lexeme))


def count_words(lexemes: Sequence[str], scope: Scope) -> list[float | None]:
    """Return in about how many passages of a scope each word occurs; None for words that are not common."""
    shares = _shares(scope)
    return [shares[lexeme] * scope.passages if lexeme in shares else None for lexeme in lexemes]


def _shares(scope: Scope) -> dict[str, float]:
    """Return the share of a large scope's passages that contain each common word, up to ten minutes old."""
    if not scope.is_large:
        return {}
    known = _known.get(scope.owner)
    if known is None or monotonic() - known.read_at > CACHE_SECONDS:
        condition = scope_of("passage", scope)
        with read_cursor() as cursor:
            cursor.execute(_COMMON_WORDS.format(scope=condition.text), condition.parameters)
            known = _Statistics(dict(cursor.fetchall()), monotonic())
        if len(_known) >= CACHED_SCOPES:
            _known.clear()
        _known[scope.owner] = known
    return known.shares

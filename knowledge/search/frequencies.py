"""How often words occur among what one may see: which words of a question are worth looking up.

Counted over one scope at a time, the asker's own or the shared one. A share of everybody's passages would let a
question tell whether a word stands in someone else's memory: by which words are left out, and by how much each weighs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from time import monotonic
from uuid import UUID

from django.db import connection

from knowledge.models.passages import SAMPLE
from knowledge.search.filters import scope_of
from knowledge.search.scopes import Scope

MATCHED = 5_000
"""About how many passages of a large scope are ranked for a question."""
MOST_WORDS = 60
"""Of a question: as many as there are bits in a number, and more than anybody asks with."""
SAMPLED = 2_000
"""Of a large scope. A word in one of a hundred passages stands in twenty of these."""
COMMON_WORDS = 1_000
BELIEVED_SECONDS = 600.0
LARGE_SCOPES = 100
"""So many a process remembers the words of."""

# Sampled by the digest of the text: whatever others store, of the same passages it is the same sample.
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
    """In what part of a scope's passages each common word stands, and when it was counted."""

    shares: dict[str, float]
    read_at: float


_known: dict[UUID | None, _Statistics] = {}


def telling_words(lexemes: Sequence[str], scope: Scope) -> list[str]:
    """Return the rarest of these words: all that together stand in about 5,000 passages of a scope, but at least one.

    A question of ten words has some that stand in most passages; looking those up would rank nearly everything, for a
    word that tells nothing. What is found by the rare words is still ranked by all of them.
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
    """Count again before the next search: what is stored has just changed much."""
    _known.clear()


def most_telling(lexemes: Sequence[str], scopes: Sequence[Scope]) -> list[str]:
    """Return as many words of a question as can be looked for at once, those that tell most."""
    if len(lexemes) <= MOST_WORDS:
        return list(lexemes)
    return rarest(lexemes, max(scopes, key=lambda scope: scope.passages))[:MOST_WORDS]


def rarest(lexemes: Sequence[str], scope: Scope) -> list[str]:
    """Return the words in the order of how much they tell: the rarest first, of those not known the longest.

    Nothing is known of a small scope: to count its words would take longer than to look all of them up.
    """
    shares = _shares(scope)
    return sorted(lexemes, key=lambda lexeme: (shares.get(lexeme, 0.0), -len(lexeme), lexeme))


def count_words(lexemes: Sequence[str], scope: Scope) -> list[float | None]:
    """Return in about how many passages of a scope each word stands; of those that are not common, nothing is known."""
    shares = _shares(scope)
    return [shares[lexeme] * scope.passages if lexeme in shares else None for lexeme in lexemes]


def word_weights(counts: Sequence[Sequence[float]]) -> list[float]:
    """Return how much each word of a question weighs, by in how many passages of each scope it stands.

    Over all scopes that are asked together, so that what they found can be compared.
    """
    passages = [sum(scopes) for scopes in zip(*counts, strict=True)]
    most = max(passages, default=0.0)
    return [log(1 + most / max(count, 0.5)) for count in passages]


def coverage(has: Mapping[int, int], weights: Sequence[float]) -> dict[int, float]:
    """Return how much of a question each passage has that has any of it, by the bits of its words: 1 is all of it."""
    whole = sum(weights)
    scores = {
        bits: sum(weight for number, weight in enumerate(weights) if bits >> number & 1) / whole
        for bits in set(has.values())
        if bits
    }
    return {passage: scores[bits] for passage, bits in has.items() if bits}


def _shares(scope: Scope) -> dict[str, float]:
    """In what part of a large scope's passages each common word stands, as of some minutes ago."""
    if not scope.is_large:
        return {}
    known = _known.get(scope.owner)
    if known is None or monotonic() - known.read_at > BELIEVED_SECONDS:
        condition = scope_of("passage", scope)
        with connection.cursor() as cursor:
            cursor.execute(_COMMON_WORDS.format(scope=condition.text), condition.parameters)
            known = _Statistics(dict(cursor.fetchall()), monotonic())
        if len(_known) >= LARGE_SCOPES:
            _known.clear()
        _known[scope.owner] = known
    return known.shares

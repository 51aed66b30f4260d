"""Word frequencies: which words of a question are worth looking up, and how much each weighs.

Counted over one scope at a time, the user's own or the shared one. Frequencies over all users' passages would disclose
whether a word occurs in someone else's memory: by which words are left out, and by how much each weighs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from time import monotonic
from uuid import UUID

from rapidfuzz import process
from rapidfuzz.distance import OSA

from bigmind.core.common_words import is_common
from bigmind.core.replicas import read_cursor
from knowledge.models.passages import SAMPLE
from knowledge.search.filters import scope_of
from knowledge.search.indexes import Scope

MATCHED = 5_000
"""About how many passages of a large scope are ranked for a question. More would take longer than a search may."""
MOST_WORDS = 60
"""Words of a question that are looked up: the bits of a bigint hold one each, and no real question has more."""
SAMPLED = 2_000
"""Passages of a large scope that are sampled. A word in one of a hundred passages occurs in twenty of these."""
COMMON_WORDS = 1_000
CACHE_SECONDS = 600.0
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


# Of a large scope the words of the same sample: a word that is rarer is not known, and so nothing is corrected to it.
_WORDS = """
WITH sample AS (SELECT passage.lexemes FROM knowledge_passage AS passage WHERE {scope} LIMIT {limit})
SELECT DISTINCT word.lexeme FROM sample, unnest(sample.lexemes) AS word
WHERE char_length(word.lexeme) BETWEEN {least} AND {most}
"""
LEAST_CHARS, MOST_CHARS = 5, 30
"""Of a misspelt word. A shorter one has too many neighbours."""
LONG_CHARS = 9
"""From here on two slips are corrected, in shorter words one."""
WORDS_SECONDS = 60.0
READ_PASSAGES = 5_000
"""Passages of a small scope whose words are read: more would keep the question waiting."""
CORRECTIONS = 3
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class _Vocabulary:
    """The words of a scope, by their first letter, and when they were read."""

    words: dict[str, set[str]]
    read_at: float


@dataclass(frozen=True)
class _Statistics:
    """The share of a scope's passages that contain each common word, and when it was counted."""

    shares: dict[str, float]
    read_at: float


_known: dict[UUID | None, _Statistics] = {}
_vocabularies: dict[UUID | None, _Vocabulary] = {}


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
    _vocabularies.clear()


def correct_words(words: Iterable[str], scopes: Sequence[Scope]) -> dict[str, frozenset[str]]:
    """Return for each of these words that seems misspelt the words of the scopes that it may stand for.

    A slip leaves out, doubles, swaps or replaces a letter, but hardly ever the first one. Common English words are
    taken to be what they are, although no passage has them.

    Args:
        words: Words of a question that no passage has.
    """
    corrected: dict[str, frozenset[str]] = {}
    for word in words:
        if not (LEAST_CHARS <= len(word) <= MOST_CHARS and word.isalpha()) or is_common(word):
            continue
        # Sorted, so that of several equally near ones the same are chosen everywhere.
        known = sorted({one for scope in scopes for one in list(_vocabulary(scope).get(word[0], ()))})
        slips = 2 if len(word) >= LONG_CHARS else 1
        found = process.extract(word, known, scorer=OSA.distance, score_cutoff=slips, limit=CORRECTIONS)
        if found:
            least = min(distance for _, distance, _ in found)
            corrected[word] = frozenset(one for one, distance, _ in found if distance == least)
    return corrected


def most_selective(lexemes: Sequence[str], scopes: Sequence[Scope]) -> list[str]:
    """Return the words of a question, or of a very long one the MOST_WORDS rarest."""
    if len(lexemes) <= MOST_WORDS:
        return list(lexemes)
    return rarest(lexemes, max(scopes, key=lambda scope: scope.passages))[:MOST_WORDS]


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


def word_weights(counts: Sequence[Sequence[float]]) -> list[float]:
    """Return the weight of each word of a question, from the number of passages that contain it in each scope.

    The weight is an inverse document frequency, as in BM25. It is computed over all searched scopes together, so that
    their scores can be compared.
    """
    passages = [sum(scopes) for scopes in zip(*counts, strict=True)]
    most = max(passages, default=0.0)
    return [log(1 + most / max(count, 0.5)) for count in passages]


def coverage(has: Mapping[int, int], weights: Sequence[float]) -> dict[int, float]:
    """Return for each passage the share of the question's weight that its words have: 1 is all of it.

    A passage without any of the words is left out. Passages with the same words share one computation.
    """
    whole = sum(weights)
    scores = {
        bits: sum(weight for number, weight in enumerate(weights) if bits >> number & 1) / whole
        for bits in set(has.values())
        if bits
    }
    return {passage: scores[bits] for passage, bits in has.items() if bits}


def add_words(owner: UUID | None, texts: Iterable[str]) -> None:
    """Add the words of what is being stored to those of its scope, if this process has read them."""
    known = _vocabularies.get(owner)
    if known is not None:
        for word in {word for text in texts for word in _WORD.findall(text.casefold())}:
            if LEAST_CHARS - 1 <= len(word) <= MOST_CHARS + 1:
                known.words.setdefault(word[0], set()).add(word)


def _vocabulary(scope: Scope) -> dict[str, set[str]]:
    """Return the words of a scope by their first letter; what other processes stored is up to a minute late."""
    known = _vocabularies.get(scope.owner)
    if known is None or monotonic() - known.read_at > WORDS_SECONDS:
        condition = scope_of("passage", scope)
        of_scope, limit = condition.text, READ_PASSAGES
        if scope.is_large:
            of_scope, limit = f"{of_scope} AND passage.digest < '{SAMPLE}' ORDER BY passage.digest", SAMPLED
        text = _WORDS.format(scope=of_scope, limit=limit, least=LEAST_CHARS - 1, most=MOST_CHARS + 1)
        words: dict[str, set[str]] = {}
        with read_cursor() as cursor:
            cursor.execute(text, condition.parameters)
            for (word,) in cursor.fetchall():
                words.setdefault(word[0], set()).add(word)
        known = _Vocabulary(words, monotonic())
        if len(_vocabularies) >= CACHED_SCOPES:
            _vocabularies.clear()
        _vocabularies[scope.owner] = known
    return known.words


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

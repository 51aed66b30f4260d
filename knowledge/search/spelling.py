"""Spelling: the words of a scope, what a misspelt word of a question may stand for, and the question put right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from uuid import UUID

from pgvector import HalfVector
from rapidfuzz import process
from rapidfuzz.distance import OSA

from bigmind.database.replicas import read_cursor
from bigmind.text.common_words import is_common
from bigmind.text.words import IDENTIFIER
from knowledge.embeddings.calls import embed_question
from knowledge.embeddings.providers import EmbedderError
from knowledge.models.passages import SAMPLE
from knowledge.search.filters import Scope, scope_of
from knowledge.search.frequencies import CACHED_SCOPES, SAMPLED
from knowledge.search.question import SearchQuestion
from knowledge.search.synonyms import Synonyms

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


@dataclass(frozen=True)
class _Vocabulary:
    """The words of a scope, by their first letter, and when they were read."""

    words: dict[str, set[str]]
    read_at: float


_vocabularies: dict[UUID | None, _Vocabulary] = {}


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


def correct_question(question: SearchQuestion, corrections: Synonyms) -> SearchQuestion:
    """Return the question with the corrections beside its misspelt words, and its vector between those of both.

    What looks like a slip may be a name that nothing stored has yet, so nothing is replaced.
    """
    synonyms = {**(question.synonyms or {}), **corrections}
    text = IDENTIFIER.sub(lambda found: min(corrections.get(found[0].casefold(), [found[0]])), question.text)
    corrected = replace(question, synonyms=synonyms)
    if question.vector is None or text == question.text:
        return corrected
    try:
        vectors, tokens = embed_question(text)
    except EmbedderError:
        return corrected
    # A sum will do: the cosine ignores length.
    first = question.vector.to_list()
    between = [one + other for one, other in zip(first, vectors[0][: len(first)].tolist(), strict=True)]
    return replace(corrected, text=text, vector=HalfVector(between), tokens=tokens[0] if tokens else None)


def forget_vocabularies() -> None:
    """Clear the words that this process has read. For imports and removals that change much at once."""
    _vocabularies.clear()


def _vocabulary(scope: Scope) -> dict[str, set[str]]:
    """Return the words of a scope by their first letter; what other processes stored is up to a minute late."""
    known = _vocabularies.get(scope.owner)
    if known is None or monotonic() - known.read_at > WORDS_SECONDS:
        condition = scope_of("passage", scope)
        of_scope, limit = condition.text, READ_PASSAGES
        if scope.is_large:
            of_scope, limit = f"{of_scope} AND passage.digest < '{SAMPLE}' ORDER BY passage.digest", SAMPLED
        # A slip may have left out a letter, or added one.
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

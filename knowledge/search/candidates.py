"""What both retrievers find, and how each of them scores what the other found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from uuid import UUID

from knowledge.search.filters import Filters
from knowledge.search.frequencies import coverage, most_selective, word_weights
from knowledge.search.indexes import Scope
from knowledge.search.question import SearchQuestion
from knowledge.search.retrievers import (
    Candidate,
    KeywordCandidates,
    merge_candidates,
    retrieve_by_meaning,
    retrieve_by_words,
    score_by_other_retriever,
    terms_of,
)
from knowledge.search.spelling import correct_question, correct_words
from knowledge.search.synonyms import Synonyms

FORM_CHARS = 5
"""Letters that the forms of one word have in common: where a passage has one form, the others are not misspelt."""


@dataclass(frozen=True)
class Found:
    """The candidates of both retrievers, by passage, and the score of each retriever for all of them.

    `brought` has the number of candidates of each retriever, `keyword_seconds` the time of the keyword retriever.
    `waiting` passages have no vector yet. `weights` says how much each word of the question counts.
    """

    candidates: dict[int, Candidate]
    keyword: dict[int, float]
    vector: dict[int, float] = field(default_factory=dict)
    brought: dict[str, int] = field(default_factory=dict)
    keyword_seconds: float = 0.0
    waiting: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[str, float] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    counts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _KeywordMatches:
    """What the keyword retriever found in all scopes, for these words of the question, which weigh so much.

    What is in no passage is in `missing`.
    """

    words: list[str]
    weights: list[float]
    candidates: dict[int, Candidate]
    missing: frozenset[str]
    counts: list[float]


def find_candidates(
    question: SearchQuestion, filters: Filters, scopes: Sequence[Scope]
) -> tuple[SearchQuestion, Found]:
    """Run both retrievers in every scope, then let each of them score what only the other found.

    A word that no passage has and that seems misspelt is corrected besides: the question comes back with both.
    """
    question = replace(question, scopes=scopes)
    # A small scope is compared whole anyway, so there is nothing to count.
    few = {scope.owner: scope.is_large and filters.leave_few(scope) for scope in scopes}
    started = perf_counter()
    question, named = _match_words(question, filters, scopes, few)
    took, has = perf_counter() - started, {passage: found.has for passage, found in named.candidates.items()}
    if question.vector is None or question.space is None:
        brought = {"keyword": len(has), "vector": 0}
        return question, Found(named.candidates, coverage(has, named.weights), brought=brought, keyword_seconds=took)
    near, words = _compare_meaning(question, filters, scopes, few), dict(zip(named.words, named.weights, strict=False))
    other = score_by_other_retriever(
        terms_of(named.words, question.synonyms),
        question.vector,
        question.space,
        without_words=near.keys() - has.keys(),
        without_distance=has.keys() - near.keys(),
        scopes=scopes,
        searched=filters.roughly(scopes),
    )
    return question, Found(
        candidates={**near, **named.candidates},
        keyword=coverage(has | other.has, named.weights),
        vector={passage: float(found.score) for passage, found in near.items()} | other.near,
        brought={"keyword": len(has), "vector": len(near)},
        keyword_seconds=took,
        waiting=other.waiting,
        weights=_weights_with_corrections(words, question),
        words=words,
        missing=named.missing,
        counts=dict(zip(named.words, named.counts, strict=False)),
    )


def _match_words(
    question: SearchQuestion, filters: Filters, scopes: Sequence[Scope], few: Mapping[UUID | None, bool]
) -> tuple[SearchQuestion, _KeywordMatches]:
    """Run the keyword retriever in every scope, once more when a word is corrected; the question comes back with it."""
    words = most_selective(question.lexemes, scopes)

    def ask(synonyms: Synonyms | None) -> list[KeywordCandidates]:
        return [retrieve_by_words(words, filters, scope, few=few[scope.owner], synonyms=synonyms) for scope in scopes]

    asked = ask(question.synonyms)
    missing = _unknown(words, asked)
    corrections = correct_words(missing, scopes)
    # A word that another kind has is its own correction: to ask for it once more would find the same.
    if misspelt := {word: others for word, others in corrections.items() if others != {word}}:
        question = correct_question(question, misspelt)
        asked = ask(question.synonyms)
    candidates = merge_candidates(found for one in asked for found in one.candidates)
    counts = [one.counts for one in asked if one.counts]
    in_all = [sum(scopes) for scopes in zip(*counts, strict=True)]
    unknown = frozenset(missing).difference(corrections)
    return question, _KeywordMatches(words, word_weights(counts), candidates, unknown, in_all)


def _compare_meaning(
    question: SearchQuestion, filters: Filters, scopes: Sequence[Scope], few: Mapping[UUID | None, bool]
) -> dict[int, Candidate]:
    """Run the vector retriever in every scope, and once more among what was said in the period of the question."""
    vector, space = question.vector, question.space
    if vector is None or space is None:
        return {}
    near = merge_candidates(
        found for scope in scopes for found in retrieve_by_meaning(vector, space, filters, scope, few=few[scope.owner])
    )
    if question.period:
        # The nearest of all times may have none of the period. Compared exactly, since an index with a filter behind it
        # returns fewer than asked for.
        within = replace(filters, said_in=question.period)
        near |= merge_candidates(
            found for scope in scopes for found in retrieve_by_meaning(vector, space, within, scope, few=True)
        )
    return near


def _unknown(words: Sequence[str], asked: Sequence[KeywordCandidates]) -> list[str]:
    """Return the words that no passage has, nor any other form of them."""
    counts = [sum(scopes) for scopes in zip(*(one.counts for one in asked if one.counts), strict=True)]
    known = {word[:FORM_CHARS] for word, count in zip(words, counts, strict=False) if count}
    return [word for word, count in zip(words, counts, strict=False) if not (count or word[:FORM_CHARS] in known)]


def _weights_with_corrections(weights: dict[str, float], question: SearchQuestion) -> dict[str, float]:
    """Return the weights of words, and of what was put beside them.

    Late interaction reads the corrected question, in which a correction stands in the place of the misspelt word.
    """
    others = {
        other: weights[word] for word, same in (question.synonyms or {}).items() if word in weights for other in same
    }
    return {**others, **weights}

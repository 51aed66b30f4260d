"""What both retrievers find, and how each of them scores what the other found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from math import log
from operator import attrgetter
from time import perf_counter

from pgvector import HalfVector

from knowledge.models import EmbeddingSpace
from knowledge.search.filters import Filters, Scope, of_scopes
from knowledge.search.frequencies import MOST_WORDS, rarest
from knowledge.search.question import SearchQuestion
from knowledge.search.retrievers import (
    Candidate,
    OtherScores,
    Unit,
    Units,
    compare_meaning,
    match_words,
    merge_candidates,
    score_by_other_retriever,
    terms_of,
    units_of,
)
from knowledge.search.spelling import correct_question, correct_words
from knowledge.search.synonyms import Synonyms

FORM_CHARS = 5
"""Letters that the forms of one word have in common: where a passage has one form, the others are not misspelt."""


@dataclass(frozen=True)
class Found:
    """The candidates of both retrievers in one group, by passage, and the score of each retriever for all of them.

    `brought` has the number of candidates of each retriever. `waiting` passages have no vector yet. `weights` says how
    much each word of the question counts, `has` which of the `lexemes` each candidate has, as the bits of a number.
    """

    candidates: dict[int, Candidate]
    keyword: dict[int, float]
    vector: dict[int, float] = field(default_factory=dict)
    brought: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[str, float] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    counts: Mapping[str, float] = field(default_factory=dict)
    has: Mapping[int, int] = field(default_factory=dict)
    lexemes: Sequence[str] = ()


@dataclass(frozen=True)
class Matches:
    """What the words of a question are worth in one group: how many passages have each, and which have none of them."""

    candidates: dict[int, Candidate]
    counts: Sequence[float]
    weights: list[float]
    missing: frozenset[str]


def find_candidates(
    question: SearchQuestion, filters: Filters, scopes: Sequence[Scope]
) -> tuple[SearchQuestion, list[Found], float]:
    """Run both retrievers over all groups in every scope, then let each of them score what only the other found.

    A word that no passage has and that seems misspelt is corrected besides. Return the question with both, what was
    found in each group, and the seconds that the keyword retriever took.
    """
    question, started = replace(question, scopes=scopes, searched=of_scopes("passage", scopes)), perf_counter()
    units = units_of(filters, scopes)
    groups = range(len(filters.groups) or 1)
    words: Sequence[str] = question.lexemes
    if len(words) > MOST_WORDS:
        # By the largest scope, as small ones have no frequencies.
        words = rarest(words, max(scopes, key=attrgetter("passages")))[:MOST_WORDS]
    question, matches = _match_words(question, words, units, groups)
    took = perf_counter() - started
    vector, space = question.vector, question.space
    if vector is None or space is None:
        nothing: list[dict[int, Candidate]] = [{} for _ in groups]
        return question, _combine(question, words, matches, nothing, OtherScores({}, {}, 0)), took
    near = _compare_meaning(question, vector, space, units, groups)
    has = {passage: one.has for matched in matches for passage, one in matched.candidates.items()}
    compared = {passage for one in near for passage in one}
    other = score_by_other_retriever(
        terms_of(words, question.synonyms),
        vector,
        space,
        question.searched,
        filters.roughly(question.searched),
        without_words=compared - has.keys(),
        without_distance=has.keys() - compared,
        scopes=scopes,
    )
    return question, _combine(question, words, matches, near, other), took


def _combine(
    question: SearchQuestion,
    words: Sequence[str],
    matches: Sequence[Matches],
    compared: Sequence[dict[int, Candidate]],
    other: OtherScores,
) -> list[Found]:
    """Return what both retrievers found in each group, with both scores of every candidate.

    That of the keyword retriever is the share of the question's weight that the words of a passage have: 1 is all of
    it. A passage without any of them has none.
    """
    found = []
    for matched, near in zip(matches, compared, strict=True):
        candidates = {**near, **matched.candidates}
        has, keyword, vector = dict[int, int](), dict[int, float](), dict[int, float]()
        shares, whole = dict[int, float](), sum(matched.weights)
        for passage, one in candidates.items():
            bits = has[passage] = one.has or other.has.get(passage, 0)
            if bits:
                # Passages with the same words share one computation.
                if bits not in shares:
                    its_words = [weight for number, weight in enumerate(matched.weights) if bits >> number & 1]
                    shares[bits] = sum(its_words) / whole
                keyword[passage] = shares[bits]
            score = near[passage].score if passage in near else other.near.get(passage)
            if score is not None:
                vector[passage] = float(score)
        weights = dict(zip(words, matched.weights, strict=False))
        found.append(
            Found(
                candidates=candidates,
                keyword=keyword,
                vector=vector,
                brought={"keyword": len(matched.candidates), "vector": len(near)},
                waiting=other.waiting,
                weights=_weights_with_corrections(weights, question.synonyms) if question.synonyms else weights,
                words=weights,
                missing=matched.missing,
                counts=dict(zip(words, matched.counts, strict=False)),
                has=has,
                lexemes=words,
            )
        )
    return found


def word_weights(passages: Sequence[float]) -> list[float]:
    """Return the weight of each word of a question, from the number of passages that contain it.

    The weight is an inverse document frequency, as in BM25. It is computed over all searched scopes together, so that
    their scores can be compared.
    """
    most = max(passages, default=0.0)
    # Half a passage: a word that none has weighs a little more than one that a single passage has, and not infinitely.
    # `retrievers.py` has the same formula in SQL, by which each scope chooses its candidates.
    return [log(1 + most / max(count, 0.5)) for count in passages]


def _match_words(
    question: SearchQuestion, words: Sequence[str], units: Units, groups: range
) -> tuple[SearchQuestion, list[Matches]]:
    """Run the keyword retriever, once more when a word is corrected; the question comes back with the correction."""
    matched = match_words(words, units, synonyms=question.synonyms)
    unknown = _unknown(words, _add_up([one.counts for one in matched]))
    corrections = correct_words(unknown, question.scopes) if unknown else {}
    # A word that another kind has is its own correction: to ask for it once more would find the same.
    if misspelt := {word: others for word, others in corrections.items() if others != {word}}:
        question = correct_question(question, misspelt)
        matched = match_words(words, units, synonyms=question.synonyms)
    candidates = _of_groups(units, [one.candidates for one in matched], groups)
    in_each = [list[Sequence[float]]() for _ in groups]
    for unit, one in zip(units, matched, strict=True):
        in_each[unit.group].append(one.counts)
    matches = []
    for best, some in zip(candidates, in_each, strict=True):
        counts = _add_up(some)
        missing = frozenset(_unknown(words, counts)).difference(corrections)
        matches.append(Matches(best, counts, word_weights(counts), missing))
    return question, matches


def _compare_meaning(
    question: SearchQuestion, vector: HalfVector, space: EmbeddingSpace, units: Units, groups: range
) -> list[dict[int, Candidate]]:
    """Run the vector retriever, and once more among what was said in the period of the question."""
    near = _of_groups(units, compare_meaning(vector, space, units), groups)
    if question.period:
        # The nearest of all times may have none of the period. Compared exactly, since an index with a filter behind it
        # returns fewer than asked for.
        timed = [replace(one, few=True, filters=replace(one.filters, said_in=question.period)) for one in units]
        for group, compared in enumerate(_of_groups(units, compare_meaning(vector, space, Units(timed)), groups)):
            near[group] |= compared
    return near


def _of_groups(
    units: Sequence[Unit], found: Sequence[Sequence[Candidate]], groups: range
) -> list[dict[int, Candidate]]:
    by_group = [list[Candidate]() for _ in groups]
    for unit, some in zip(units, found, strict=True):
        by_group[unit.group] += some
    return merge_candidates(by_group)


def _add_up(counts: Sequence[Sequence[float]]) -> list[float]:
    return [*map(sum, zip(*counts, strict=True))]


def _unknown(words: Sequence[str], counts: Sequence[float]) -> list[str]:
    """Return the words that no passage has, nor any other form of them."""
    if all(counts):
        return []
    known = {word[:FORM_CHARS] for word in compress(words, counts)}
    return [word for word in words if word[:FORM_CHARS] not in known]


def _weights_with_corrections(weights: dict[str, float], synonyms: Synonyms) -> dict[str, float]:
    """Return the weights of words, and of what was put beside them.

    Late interaction reads the corrected question, in which a correction stands in the place of the misspelt word.
    """
    others = {other: weights[word] for word, same in synonyms.items() if word in weights for other in same}
    return {**others, **weights}

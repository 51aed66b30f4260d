"""Ranks the passages of both worlds for questions, by the formula that the search uses."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from knowledge.models import AskedForm
from knowledge.search.abstention import ALL_WORDS, FLOOR, WORDS_COUNT
from knowledge.search.fusion import LATE, MEANING, WORDS, fuse
from knowledge.search.ranking import RERANKED
from knowledge.search.retrievers import CANDIDATES

from .passages import PassageIndex, Scores, as_units
from .questions import ReplayedQuestion

NEAR = 0.12
"""How far below the end of an answer a changed passage may stand and late interaction still lift it there."""
ROUNDING = 0.002


class _RankedPassages(NamedTuple):
    """Passages and their scores, the best first."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


def score_meaning(questions: Sequence[ReplayedQuestion], index: PassageIndex) -> Scores:
    """Return the cosine of each question and each passage."""
    vectors = np.array([np.frombuffer(one.asked.vector, dtype=np.float16) for one in questions], dtype=np.float32)
    return as_units(vectors) @ index.vectors.T


def find_near(
    questions: Sequence[ReplayedQuestion], cosines: Scores, keywords: tuple[Scores, Scores], index: PassageIndex
) -> list[int]:
    """Return the questions whose answers the changed passages may affect."""
    # What follows estimates by the formula of “blend”; ranks of another recipe are known only when all are made.
    if settings.SEARCH_FUSION != "blend":
        return list(range(len(questions)))
    is_near = np.zeros(len(questions), dtype=bool)
    lists_all, others = _lists_all(questions), _other_scores(questions)
    near = MEANING * np.maximum(cosines, 0)
    for number, one in enumerate(questions):
        if one.of_period is not None:
            near[number] += one.of_period
    for world, keyword in enumerate(keywords):
        there = np.array([index.there(one.only, world) for one in questions])
        scores = np.where(there, WORDS * keyword + near, -1)
        best = scores[:, index.changed].max(axis=1)
        of_changed, words = cosines[:, index.changed], keyword[:, index.changed]
        answers = (of_changed + WORDS_COUNT * words >= FLOOR - ROUNDING) | (words >= ALL_WORDS - ROUNDING)
        answers |= ~index.has_vector[index.changed]
        may = (answers & there[:, index.changed]).any(axis=1)
        ends = _ends(questions, np.hstack((scores, others)))
        is_near |= (best >= ends - NEAR) & (best >= 0) & (may | lists_all)
    return [number for number, one in enumerate(questions) if is_near[number] or one.shifts]


def _lists_all(questions: Sequence[ReplayedQuestion]) -> NDArray[np.bool_]:
    """Return which questions also get results that are merely the closest."""
    return np.array([one.asked.how in {AskedForm.SEARCH, AskedForm.COMPANY} for one in questions])


def _ends(questions: Sequence[ReplayedQuestion], scores: Scores) -> Scores:
    """Return for each question the score of the last passage that an answer has room for, beside what else it found."""
    ends = np.full(len(questions), -1, dtype=np.float32)
    for limit in {one.limit for one in questions}:
        of_limit = np.array([one.limit == limit for one in questions])
        if scores.shape[1] > limit:
            ends[of_limit] = np.partition(scores[of_limit], -limit, axis=1)[:, -limit]
    return ends


def _other_scores(questions: Sequence[ReplayedQuestion]) -> Scores:
    """Return the scores of what else each question found, where that is in one list with company knowledge."""
    found = [[] if one.asked.how == AskedForm.RECALL else one.asked.outline["others"] for one in questions]
    scores = np.full((len(questions), max(map(len, found))), -1, dtype=np.float32)
    for number, others in enumerate(found):
        scores[number, : len(others)] = [score for _, score, *_ in others]
    return scores


def score_keywords(questions: Sequence[ReplayedQuestion], index: PassageIndex) -> tuple[Scores, Scores]:
    """Return for both worlds the share of each question's words that each passage has."""
    before = _share_words(questions, index, 0)
    moved = [number for number, one in enumerate(questions) if one.has_changed_words]
    if not moved:
        return before, before
    after = before.copy()
    after[moved] = _share_words([questions[number] for number in moved], index, 1)
    return before, after


def _share_words(questions: Sequence[ReplayedQuestion], index: PassageIndex, world: int) -> Scores:
    width = len(index.ids)
    rows = [found.rows for one in questions for found in one.found]
    if not rows:
        return np.zeros((len(questions), width), dtype=np.float32)
    lengths = np.array([len(one) for one in rows])
    starts = np.repeat(np.arange(len(questions)) * width, [len(one.found) for one in questions])
    shares = np.concatenate([one.shares[world] for one in questions])
    places = np.concatenate(rows) + np.repeat(starts, lengths)
    flat = np.bincount(places, weights=np.repeat(shares, lengths), minlength=len(questions) * width)
    return flat.reshape(len(questions), width).astype(np.float32)


def rank_entries(
    question: ReplayedQuestion, cosines: Scores, keywords: tuple[Scores, Scores], index: PassageIndex
) -> list[list[tuple[int, float]]]:
    """Return the best entries of both worlds, each by its best passage: the row of that, and its score."""
    fused = [_fuse(question, cosines, keyword, index, world) for world, keyword in enumerate(keywords)]
    moved = _add_period(question, _add_late(question, fused, index))
    return [_first_entries(one, question.limit, index) for one in moved]


def _fuse(
    question: ReplayedQuestion, cosines: Scores, keyword: Scores, index: PassageIndex, world: int
) -> _RankedPassages:
    """Return the passages by their fused scores; by the usual recipe, where each has a vector, the best ones alone."""
    rows = _candidates(question, cosines, keyword, index, world)
    if settings.SEARCH_FUSION == "blend" and index.has_vector[rows].all():
        scores = WORDS * keyword[rows].astype(np.float64) + MEANING * np.maximum(cosines[rows], 0).astype(np.float64)
        most = len(rows) if question.of_period is not None else RERANKED + question.limit
        best = np.argsort(-scores, kind="stable")[:most]
        return _RankedPassages(rows[best], scores[best])
    words = {int(row): float(keyword[row]) for row in rows if keyword[row] > 0}
    near = {int(row): float(cosines[row]) for row in rows if index.has_vector[row]}
    fused = {row: one.score for row, one in fuse(words, near).items()}
    order = sorted(fused, key=lambda row: -fused[row])
    return _RankedPassages(np.array(order, dtype=np.int64), np.array([fused[row] for row in order], dtype=np.float64))


def _candidates(
    question: ReplayedQuestion, cosines: Scores, keyword: Scores, index: PassageIndex, world: int
) -> NDArray[np.int64]:
    """Return the passages that either retriever brings."""
    there, are_all = index.rows_there(question.only, world)
    if are_all:
        return there
    named, near = there[keyword[there] > 0], there[index.has_vector[there]]
    found = np.union1d(_first(near, cosines), _first(named, keyword))
    if question.of_period is None:
        return found
    return np.union1d(found, _first(near[question.of_period[near] > 0], cosines))


def _first(rows: NDArray[np.int64], scores: Scores) -> NDArray[np.int64]:
    """Return the passages that a retriever brings: as many as it may, those with the best scores."""
    return rows[np.argsort(-scores[rows], kind="stable")[:CANDIDATES]]


def _add_late(
    question: ReplayedQuestion, worlds: Sequence[_RankedPassages], index: PassageIndex
) -> list[_RankedPassages]:
    """Return the scores moved by late interaction, against the average of this search.

    Both worlds share most passages, so their tokens are compared once.
    """
    has_tokens = [index.tokens.lengths[rows[:RERANKED]] > 0 for rows, _ in worlds]
    best = [rows[:RERANKED][has] for (rows, _), has in zip(worlds, has_tokens, strict=True)]
    compared = np.union1d(*best)
    if not question.asked.tokens or not len(question.signs) or not len(compared):
        return list(worlds)
    nearest = index.tokens.choose(compared).nearest(question.signs)
    # A search of everything uses the average of everything.
    usual = None if question.is_of_company else question.asked.outline["usual"]
    moved = []
    for world, (rows, scores) in enumerate(worlds):
        late = (question.token_shares[world] @ nearest)[np.searchsorted(compared, best[world])]
        average = late.sum() / max(1, len(late)) if usual is None else usual
        more = np.zeros(len(rows))
        more[np.flatnonzero(has_tokens[world])] = LATE * (late - average)
        moved.append(_RankedPassages(rows, scores + more))
    return moved


def _add_period(question: ReplayedQuestion, worlds: list[_RankedPassages]) -> list[_RankedPassages]:
    if (more := question.of_period) is None:
        return worlds
    return [_RankedPassages(rows, scores + more[rows]) for rows, scores in worlds]


def _first_entries(ranked: _RankedPassages, limit: int, index: PassageIndex) -> list[tuple[int, float]]:
    """Return the best entries as the search lists them, each by its best passage: the row of that, and its score."""
    found: dict[int, tuple[int, float]] = {}
    scores = np.round(ranked.scores, 4)
    order = np.lexsort((-index.ids[ranked.rows], -scores))
    for row, score in zip(ranked.rows[order].tolist(), scores[order].tolist(), strict=True):
        found.setdefault(index.passages[row].entry_id, (row, score))
        if len(found) == limit:
            break
    return list(found.values())

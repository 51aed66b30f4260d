"""Replay: answers past questions again, in two worlds of company knowledge, and compares.

Asking ten thousand questions twice would take minutes. What a decision changes is a few passages, so all questions are
compared with all passages in one product of matrices first, by the formula that the search uses. If an added or removed
passage comes near the end of an answer, or its words change the weights of others, the answer is made in both worlds as
the search makes it: same weights, late interaction, order, floor and turns.

Only company knowledge is ranked again. What else a question finds is in its outline, by its scores.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from bigmind.core.live_settings import live
from bigmind.core.tokens import count_tokens
from knowledge.capture.recall import HEADING, LINE_TOKENS, PROMPT_TOKENS, SHOWN, is_elsewhere
from knowledge.models import AskedForm, EmbeddingSpace, Kind
from knowledge.search.abstention import ALL_WORDS, FLOOR, WORDS_COUNT, is_answered, may_answer
from knowledge.search.frequencies import word_weights
from knowledge.search.fusion import LATE, MEANING, PERIOD, WORDS, fuse
from knowledge.search.hybrid import FORM_CHARS, RERANKED, Finding, Findings
from knowledge.search.late_interaction import PassageTokens, as_words, shares_of_words
from knowledge.search.retrievers import CANDIDATES, is_pair
from knowledge.services.recall import COMPANY_GROUP, GROUPS, join_groups, take_turns

AT_ONCE = 500
"""Questions whose scores are held in memory together."""
NEAR = 0.12
"""How far below the end of an answer a changed passage may stand and late interaction still lift it there."""
SHIFT = 0.0005
"""Change of a word's share in its question from which the order of other passages may change."""
ROUNDING = 0.002
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

_PASSAGES = """
SELECT passage.id, passage.source_id, passage.project, tsvector_to_array(passage.lexemes), passage.text,
    extract(epoch FROM passage.created_at)::float8, halfvec_send(vector.vector), cached.tokens
FROM knowledge_passage AS passage
LEFT JOIN knowledge_passagevector AS vector ON vector.passage_id = passage.id AND vector.space_id = %(space)s
LEFT JOIN knowledge_cachedvector AS cached ON cached.space_id = %(space)s AND cached.digest = passage.digest
WHERE passage.owner_id IS NULL AND passage.kind = 'company' AND NOT passage.past
    AND (%(ids)s::text[] IS NULL OR passage.source_id = ANY(%(ids)s))
"""

Scores = NDArray[np.float32]
Told = tuple[int, ...]
_Made = TypeVar("_Made")
_NO_ROWS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class CompanyPassage:
    """A passage of company knowledge as the search sees it, and in which of the two worlds it exists."""

    id: int
    entry_id: int
    project: str
    lexemes: Sequence[str]
    text: str
    written_at: float
    vector: bytes | None
    tokens: bytes | None
    before: bool = True
    after: bool = True


@dataclass(frozen=True)
class Asked:
    """A stored question."""

    user_id: UUID
    how: str
    project: str
    text: str
    times: int
    vector: bytes
    tokens: bytes | None
    outline: Mapping[str, Any]


@dataclass(frozen=True)
class ChangedAnswer:
    """A question whose answer names other company entries in the world after, or the same ones in another order."""

    asked: Asked
    before: Told
    after: Told

    @property
    def entering(self) -> list[int]:
        """The entries that only the answer after names."""
        return [entry for entry in self.after if entry not in self.before]

    @property
    def leaving(self) -> list[int]:
        """The entries that only the answer before names."""
        return [entry for entry in self.before if entry not in self.after]


def read_company_passages(space: EmbeddingSpace, entry_ids: Iterable[int] | None = None) -> list[CompanyPassage]:
    """Return what the search may find of company knowledge now: all of it, or that of some entries."""
    ids = None if entry_ids is None else list(map(str, entry_ids))
    with connection.cursor() as cursor:
        cursor.execute(_PASSAGES, {"space": space.pk, "ids": ids})
        return [
            CompanyPassage(
                id, int(source), project, words or (), text, written, vector and bytes(vector), tokens and bytes(tokens)
            )
            for id, source, project, words, text, written, vector, tokens in cursor.fetchall()
        ]


def replay(questions: Sequence[Asked], passages: Sequence[CompanyPassage], *, dimensions: int) -> list[ChangedAnswer]:
    """Return the questions whose answers differ between the world before and the world after.

    Args:
        passages: Those of both worlds, each marked with where it is there.
        dimensions: The length of a vector.
    """
    if not questions or all(one.before == one.after for one in passages):
        return []
    index = _Index.of(passages, dimensions, max(map(_bytes_each, questions)))
    changed = []
    for start in range(0, len(questions), AT_ONCE):
        chunk = [_ReplayedQuestion(one, index) for one in questions[start : start + AT_ONCE]]
        cosines = _compare(chunk, index)
        keywords = _keyword_scores(chunk, index)
        for number in _find_near(chunk, cosines, keywords, index):
            words = keywords[0][number], keywords[1][number]
            before, after = _answer(chunk[number], cosines[number], words, index)
            if before != after:
                changed.append(ChangedAnswer(chunk[number].asked, before, after))
    return changed


def _bytes_each(asked: Asked) -> int:
    """Return how many bytes the signs of a token have; 0 where the question has none."""
    return len(asked.tokens) // len(asked.outline["places"]) if asked.tokens else 0


class _RankedPassages(NamedTuple):
    """Passages and their scores, the best first."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclass(frozen=True)
class _Rows:
    """The passages that have a word, and how many of them are in each world."""

    rows: NDArray[np.int64]
    counts: tuple[int, int]

    @cached_property
    def members(self) -> frozenset[int]:
        """The same passages, by id."""
        return frozenset(self.rows.tolist())


@dataclass(frozen=True)
class _Index:
    """The passages of both worlds, as columns."""

    passages: Sequence[CompanyPassage]
    ids: NDArray[np.int64]
    written_at: NDArray[np.float64]
    vectors: Scores
    has_vector: NDArray[np.bool_]
    worlds: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    changed: NDArray[np.int64]
    by_word: dict[str, NDArray[np.int64]]
    tokens: PassageTokens
    known: dict[tuple[str, ...], _Rows] = field(default_factory=dict)
    of_project: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    found_by: dict[tuple[str, int], tuple[NDArray[np.int64], bool]] = field(default_factory=dict)
    prices: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, passages: Sequence[CompanyPassage], dimensions: int, bytes_each: int) -> "_Index":
        """Return the index of these passages."""
        before = np.array([one.before for one in passages], dtype=bool)
        after = np.array([one.after for one in passages], dtype=bool)
        by_word: dict[str, list[int]] = {}
        for row, one in enumerate(passages):
            for word in one.lexemes:
                by_word.setdefault(word, []).append(row)
        empty = np.zeros(dimensions, dtype=np.float32)
        read = [np.frombuffer(one.vector, dtype=">f2", offset=4) if one.vector else empty for one in passages]
        vectors = np.array(read, dtype=np.float32)
        return cls(
            passages,
            np.array([one.id for one in passages], dtype=np.int64),
            np.array([one.written_at for one in passages], dtype=np.float64),
            _as_units(vectors),
            np.array([one.vector is not None for one in passages], dtype=bool),
            (before, after),
            np.flatnonzero(before != after),
            {word: np.array(rows, dtype=np.int64) for word, rows in by_word.items()},
            PassageTokens.of([(bytes_each and one.tokens) or b"" for one in passages], bytes_each=bytes_each or 1),
        )

    def find(self, word: str, others: Sequence[str]) -> _Rows:
        """Return the passages that have a word or one that counts as it."""
        key = (word, *others)
        if key not in self.known:
            if is_pair(word):
                rows = np.array([row for row, one in enumerate(self.passages) if word in one.text], dtype=np.int64)
            else:
                found = [self.by_word[one] for one in {word, *others} if one in self.by_word]
                rows = np.unique(np.concatenate(found)) if len(found) > 1 else found[0] if found else _NO_ROWS
            before, after = (int(world[rows].sum()) for world in self.worlds)
            self.known[key] = _Rows(rows, (before, after))
        return self.known[key]

    def within(self, project: str) -> NDArray[np.bool_]:
        """Return which passages belong to a project."""
        if project not in self.of_project:
            self.of_project[project] = np.array([one.project == project for one in self.passages], dtype=bool)
        return self.of_project[project]

    def there(self, project: str, world: int) -> NDArray[np.bool_]:
        """Return which passages are there in a world, of a project or of all."""
        return self.worlds[world] & self.within(project) if project else self.worlds[world]

    def rows_there(self, project: str, world: int) -> tuple[NDArray[np.int64], bool]:
        """Return the rows of these passages, and whether both retrievers bring all of them."""
        key = project, world
        if key not in self.found_by:
            rows = np.flatnonzero(self.there(project, world))
            self.found_by[key] = rows, len(rows) <= CANDIDATES and bool(self.has_vector[rows].all())
        return self.found_by[key]

    def price(self, text: str) -> int:
        """Return what the line of a passage costs before a prompt, about."""
        if text not in self.prices:
            self.prices[text] = min(LINE_TOKENS - 30, count_tokens(text)) + 30
        return self.prices[text]


class _ReplayedQuestion:
    """A question, with the weights of its words in both worlds."""

    def __init__(self, asked: Asked, index: _Index) -> None:
        outline = asked.outline
        self.asked, self.limit, self.index = asked, outline["limit"], index
        self.terms = {word: others for word, *others in outline["terms"]}
        self.found = [index.find(word, others) for word, others in self.terms.items()]
        # A search of company knowledge alone weighs words by what company knowledge has; one of everything by the
        # counts of then, with what the decision adds or takes.
        self.is_of_company = asked.how in {AskedForm.RECALL, AskedForm.COMPANY}
        self.has_changed_words = any(found.counts[0] != found.counts[1] for found in self.found)
        self.weights = self._in_both(self._weigh)
        self.shares = self._in_both(lambda world: np.array(self.weights[world]) / (sum(self.weights[world]) or 1.0))
        self.only = asked.project if asked.how in {AskedForm.SEARCH, AskedForm.COMPANY} else ""
        self.matched: dict[int, list[str]] = {}

    def _in_both(self, make: Callable[[int], _Made]) -> tuple[_Made, _Made]:
        """Return the weights of the words in each world: the same, unless a changed passage has one of them."""
        before = make(0)
        return before, make(1) if self.has_changed_words else before

    def _weigh(self, world: int) -> list[float]:
        counts = [float(found.counts[world]) for found in self.found]
        if not self.is_of_company:
            gained = [found.counts[world] - found.counts[0] for found in self.found]
            counts = [max(0.0, then + more) for then, more in zip(self.asked.outline["counts"], gained, strict=True)]
        return word_weights([counts]) if counts else []

    @property
    def shifts(self) -> bool:
        """Whether the words of changed passages change the weights of others."""
        before, after = self.shares
        return self.has_changed_words and float(np.abs(before - after).max()) > SHIFT

    @cached_property
    def of_period(self) -> Scores | None:
        """What the period that the question names adds to each passage; None where it names none."""
        if (period := self.asked.outline.get("period")) is None:
            return None
        start, end = period
        written_at = self.index.written_at
        return np.where((start <= written_at) & (written_at < end), PERIOD, 0).astype(np.float32)

    def missing(self, world: int) -> frozenset[str]:
        """Return the words that no passage has, nor another form of them."""
        if not self.is_of_company:
            return frozenset(self.asked.outline["missing"])
        counts = {word: found.counts[world] for word, found in zip(self.terms, self.found, strict=True)}
        known = {word[:FORM_CHARS] for word, count in counts.items() if count}
        return frozenset(word for word, count in counts.items() if not (count or word[:FORM_CHARS] in known))

    @cached_property
    def words_change(self) -> bool:
        """Whether a word's weight differs in the world after, or only one world knows it."""
        if not self.has_changed_words:
            return False
        return self.weights[0] != self.weights[1] or self.missing(0) != self.missing(1)

    @cached_property
    def signs(self) -> NDArray[np.uint64]:
        """The tokens that are parts of words."""
        places = self.asked.outline["places"]
        matrix = np.frombuffer(self.asked.tokens or b"", dtype=np.uint8).reshape(len(places), -1)
        return as_words(matrix[[number for number, word in enumerate(places) if word]])

    @cached_property
    def token_shares(self) -> tuple[Scores, Scores]:
        """How much each of these tokens counts, in each world."""
        return self._in_both(self._weigh_tokens)

    def _weigh_tokens(self, world: int) -> Scores:
        weights = dict(zip(self.terms, self.weights[world], strict=True))
        of_forms = {other: weights[word] for word, others in self.terms.items() for other in others}
        return shares_of_words(self.asked.outline["places"], of_forms | weights)

    def others(self, world: int) -> list[tuple[int, int, Finding]]:
        """Return what else the question found, each with its group and what its line costs."""
        if self.is_of_company or not self.words_change:
            return self._others_before
        return list(_others(self, world))

    def matches(self, row: int) -> list[str]:
        """Return the words that a passage has. Only what is joined from several searches is judged by them."""
        if self.asked.how != AskedForm.RECALL:
            return []
        if row not in self.matched:
            self.matched[row] = [
                word for word, found in zip(self.terms, self.found, strict=True) if row in found.members
            ]
        return self.matched[row]

    @cached_property
    def _others_before(self) -> list[tuple[int, int, Finding]]:
        return list(_others(self, 0))


def _as_units(vectors: Scores) -> Scores:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def _compare(questions: Sequence[_ReplayedQuestion], index: _Index) -> Scores:
    """Return the cosine of each question and each passage."""
    asked = np.array([np.frombuffer(one.asked.vector, dtype=np.float16) for one in questions], dtype=np.float32)
    return _as_units(asked) @ index.vectors.T


def _find_near(
    questions: Sequence[_ReplayedQuestion], cosines: Scores, keywords: tuple[Scores, Scores], index: _Index
) -> list[int]:
    """Return the questions whose answers the changed passages may affect."""
    if live.SEARCH_FUSION != "blend":
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


def _lists_all(questions: Sequence[_ReplayedQuestion]) -> NDArray[np.bool_]:
    """Return which questions also get results that are merely the closest."""
    return np.array([one.asked.how in {AskedForm.SEARCH, AskedForm.COMPANY} for one in questions])


def _ends(questions: Sequence[_ReplayedQuestion], scores: Scores) -> Scores:
    """Return for each question the score of the last passage that an answer has room for, beside what else it found."""
    ends = np.full(len(questions), -1, dtype=np.float32)
    for limit in {one.limit for one in questions}:
        of_limit = np.array([one.limit == limit for one in questions])
        if scores.shape[1] > limit:
            ends[of_limit] = np.partition(scores[of_limit], -limit, axis=1)[:, -limit]
    return ends


def _other_scores(questions: Sequence[_ReplayedQuestion]) -> Scores:
    """Return the scores of what else each question found, where that is in one list with company knowledge."""
    found = [[] if one.asked.how == AskedForm.RECALL else one.asked.outline["others"] for one in questions]
    scores = np.full((len(questions), max(map(len, found))), -1, dtype=np.float32)
    for number, others in enumerate(found):
        scores[number, : len(others)] = [score for _, score, *_ in others]
    return scores


def _keyword_scores(questions: Sequence[_ReplayedQuestion], index: _Index) -> tuple[Scores, Scores]:
    """Return for both worlds the share of each question's words that each passage has."""
    before = _share_words(questions, index, 0)
    moved = [number for number, one in enumerate(questions) if one.has_changed_words]
    if not moved:
        return before, before
    after = before.copy()
    after[moved] = _share_words([questions[number] for number in moved], index, 1)
    return before, after


def _share_words(questions: Sequence[_ReplayedQuestion], index: _Index, world: int) -> Scores:
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


def _answer(
    question: _ReplayedQuestion, cosines: Scores, keywords: tuple[Scores, Scores], index: _Index
) -> tuple[Told, Told]:
    """Return the company entries that the answer names in each world, in order; none where the worlds rank alike."""
    fused = [_fuse(question, cosines, keyword, index, world) for world, keyword in enumerate(keywords)]
    moved = _add_period(question, _add_late(question, fused, index))
    ranked = [_first_entries(one, question.limit, index) for one in moved]
    if ranked[0] == ranked[1] and not question.words_change:
        return (), ()
    before, after = (
        [_finding(question, row, score, cosines, keyword, index) for row, score in one]
        for one, keyword in zip(ranked, keywords, strict=True)
    )
    return _compose(question, before, 0), _compose(question, after, 1)


def _compose(question: _ReplayedQuestion, company: list[Finding], world: int) -> Told:
    names = _COMPOSE[question.asked.how](question, company, world)
    return tuple(int(item.source_id) for item in names if item.kind == Kind.COMPANY)


def _first_entries(ranked: _RankedPassages, limit: int, index: _Index) -> list[tuple[int, float]]:
    """Return the best entries as the search lists them, each by its best passage: the row of that, and its score."""
    found: dict[int, tuple[int, float]] = {}
    scores = np.round(ranked.scores, 4)
    order = np.lexsort((-index.ids[ranked.rows], -scores))
    for row, score in zip(ranked.rows[order].tolist(), scores[order].tolist(), strict=True):
        found.setdefault(index.passages[row].entry_id, (row, score))
        if len(found) == limit:
            break
    return list(found.values())


def _fuse(question: _ReplayedQuestion, cosines: Scores, keyword: Scores, index: _Index, world: int) -> _RankedPassages:
    """Return the passages by their fused scores; by the usual recipe, where each has a vector, the best ones alone."""
    rows = _candidates(question, cosines, keyword, index, world)
    if live.SEARCH_FUSION == "blend" and index.has_vector[rows].all():
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
    question: _ReplayedQuestion, cosines: Scores, keyword: Scores, index: _Index, world: int
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


def _add_late(question: _ReplayedQuestion, worlds: Sequence[_RankedPassages], index: _Index) -> list[_RankedPassages]:
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


def _add_period(question: _ReplayedQuestion, worlds: list[_RankedPassages]) -> list[_RankedPassages]:
    if (more := question.of_period) is None:
        return worlds
    return [_RankedPassages(rows, scores + more[rows]) for rows, scores in worlds]


def _finding(
    question: _ReplayedQuestion, row: int, score: float, cosines: Scores, keyword: Scores, index: _Index
) -> Finding:
    passage, share = index.passages[row], float(keyword[row])
    near = float(cosines[row]) if index.has_vector[row] else None
    matched = question.matches(row)
    id = str(passage.entry_id)
    return _make_finding("company", id, score, share or None, near, matched, passage.project, passage.text)


def _make_finding(
    kind: str,
    id: str,
    score: float,
    keyword: float | None,
    vector: float | None,
    matched: list[str],
    project: str,
    text: str = "",
) -> Finding:
    rounded = round(min(1.0, score), 4)
    return Finding(kind, id, text, rounded, (), matched, EPOCH, project, keyword=keyword, vector=vector)


def _others(question: _ReplayedQuestion, world: int) -> Iterator[tuple[int, int, Finding]]:
    """Yield what else the question found, each with its group and what its line costs.

    In a search of everything what else has a word weighs less when company knowledge says it more often.
    """
    words = list(question.terms)
    for group, score, vector, keyword, bits, project, cost, kind in question.asked.outline["others"]:
        places = [place for place in range(len(words)) if bits >> place & 1]
        now = keyword
        if not question.is_of_company and world and keyword:
            now += float(sum(question.shares[1][place] - question.shares[0][place] for place in places))
        moved = score + WORDS * (now - keyword)
        yield group, cost, _make_finding(kind, "", moved, now, vector, [words[place] for place in places], project)


def _compose_recall(question: _ReplayedQuestion, company: list[Finding], world: int) -> list[Finding]:
    found: list[list[Finding]] = [[] for _ in GROUPS]
    for group, _, item in question.others(world):
        found[group].append(item)
    found[COMPANY_GROUP] = company
    outline = question.asked.outline
    own = dict(zip(question.terms, question.weights[world], strict=True))
    groups = [
        Findings(items, len(items), fallback=False, weights=weights, missing=missing)
        for number, items in enumerate(found)
        for weights, missing in [
            (own, question.missing(world))
            if number == COMPANY_GROUP
            else (outline["weights"], frozenset(outline["missing"]))
        ]
    ]
    if not is_answered(join_groups(groups)):
        return []
    return take_turns(groups, question.asked.project)[: question.limit]


def _compose_company(question: _ReplayedQuestion, company: list[Finding], world: int) -> list[Finding]:
    return company


def _compose_search(question: _ReplayedQuestion, company: list[Finding], world: int) -> list[Finding]:
    return [item for _, item in _merge(question, company, world)]


def _compose_prompt(question: _ReplayedQuestion, company: list[Finding], world: int) -> list[Finding]:
    """Return what is sent before a prompt: what may answer, of other projects last, as far as it fits."""
    answering = [(cost, item) for cost, item in _merge(question, company, world) if may_answer(item)]
    answering.sort(key=lambda one: is_elsewhere(one[1].project, question.asked.project))
    left, told = PROMPT_TOKENS - count_tokens(f"{HEADING}\n"), list[Finding]()
    for cost, item in answering:
        if cost <= left and len(told) < SHOWN:
            told.append(item)
            left -= cost
    return told


def _merge(question: _ReplayedQuestion, company: list[Finding], world: int) -> list[tuple[int, Finding]]:
    """Return what one search found, company knowledge among the others by its score."""
    others = [(cost, item) for _, cost, item in question.others(world)]
    priced = [(question.index.price(item.text), item) for item in company]
    return sorted([*others, *priced], key=lambda one: -one[1].score)[: question.limit]


_COMPOSE: dict[str, Callable[[_ReplayedQuestion, list[Finding], int], list[Finding]]] = {
    AskedForm.RECALL: _compose_recall,
    AskedForm.COMPANY: _compose_company,
    AskedForm.SEARCH: _compose_search,
    AskedForm.PROMPT: _compose_prompt,
}

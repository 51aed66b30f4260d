"""Replay: answers questions that were asked before once more, in two worlds of company knowledge, and compares.

Asking ten thousand questions twice would take minutes. What a decision changes is a few passages, so all questions are
compared with all passages in one product of matrices first, by the formula that the search uses. Where a passage that
is added or removed comes near the place that an answer ends at, or its words change what the others weigh, the answer
is made in both worlds as the search makes it: same weights, late interaction, order, floor and turns.

Only company knowledge is ranked again. What else a question finds stands in its outline, by its scores.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean
from typing import Any, NamedTuple
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
from knowledge.search.fusion import LATE, MEANING, WORDS, fuse
from knowledge.search.hybrid import FORM_CHARS, RERANKED, Finding, Findings
from knowledge.search.late_interaction import similarities, weigh_words
from knowledge.search.retrievers import CANDIDATES, is_pair
from knowledge.services.recall import COMPANY_GROUP, GROUPS, join_groups, take_turns

AT_ONCE = 500
"""Questions whose scores are held in memory together."""
NEAR = 0.12
"""How far below the end of an answer a changed passage may stand and late interaction still lift it there."""
SHIFT = 0.01
"""Change of a word's share in its question from which the order of other passages may change."""
ROUNDING = 0.002
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

_PASSAGES = """
SELECT passage.id, passage.source_id, passage.project, tsvector_to_array(passage.lexemes), passage.text,
    halfvec_send(vector.vector), cached.tokens
FROM knowledge_passage AS passage
LEFT JOIN knowledge_passagevector AS vector ON vector.passage_id = passage.id AND vector.space_id = %(space)s
LEFT JOIN knowledge_cachedvector AS cached ON cached.space_id = %(space)s AND cached.digest = passage.digest
WHERE passage.owner_id IS NULL AND passage.kind = 'company' AND NOT passage.past
    AND (%(ids)s::text[] IS NULL OR passage.source_id = ANY(%(ids)s))
"""

Scores = NDArray[np.float32]
Told = tuple[int, ...]


@dataclass(frozen=True)
class CompanyPassage:
    """A passage of company knowledge as the search sees it, and in which of the two worlds it is there."""

    id: int
    entry_id: int
    project: str
    lexemes: Sequence[str]
    text: str
    vector: bytes | None
    tokens: bytes | None
    before: bool = True
    after: bool = True


@dataclass(frozen=True)
class Asked:
    """A question as it was kept."""

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
                id, int(source), project, lexemes or (), text, vector and bytes(vector), tokens and bytes(tokens)
            )
            for id, source, project, lexemes, text, vector, tokens in cursor.fetchall()
        ]


def replay(questions: Sequence[Asked], passages: Sequence[CompanyPassage], *, dimensions: int) -> list[ChangedAnswer]:
    """Return the questions whose answers differ between the world before and the world after.

    Args:
        passages: Those of both worlds, each marked with where it is there.
        dimensions: The length of a vector.
    """
    if not questions or all(one.before == one.after for one in passages):
        return []
    index = _Index.of(passages, dimensions)
    changed = []
    for start in range(0, len(questions), AT_ONCE):
        chunk = [_ReplayedQuestion(one, index) for one in questions[start : start + AT_ONCE]]
        cosines = _compare(chunk, index)
        for number in _find_near(chunk, cosines, index):
            before, after = (_answer(chunk[number], cosines[number], index, world) for world in (0, 1))
            if before != after:
                changed.append(ChangedAnswer(chunk[number].asked, before, after))
    return changed


class _Rows(NamedTuple):
    """The passages that have a word, and how many of them are in each world."""

    rows: NDArray[np.int64]
    counts: tuple[int, int]
    members: frozenset[int]


@dataclass(frozen=True)
class _Index:
    """The passages of both worlds, as columns."""

    passages: Sequence[CompanyPassage]
    ids: NDArray[np.int64]
    vectors: Scores
    has_vector: NDArray[np.bool_]
    worlds: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    changed: NDArray[np.int64]
    by_word: dict[str, NDArray[np.int64]]
    known: dict[tuple[str, ...], _Rows] = field(default_factory=dict)
    of_project: dict[str, NDArray[np.bool_]] = field(default_factory=dict)

    @classmethod
    def of(cls, passages: Sequence[CompanyPassage], dimensions: int) -> "_Index":
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
            _as_units(vectors),
            np.array([one.vector is not None for one in passages], dtype=bool),
            (before, after),
            np.flatnonzero(before != after),
            {word: np.array(rows, dtype=np.int64) for word, rows in by_word.items()},
        )

    def find(self, word: str, others: Sequence[str]) -> _Rows:
        """Return the passages that have a word or one that counts as it."""
        key = (word, *others)
        if key not in self.known:
            if is_pair(word):
                rows = np.array([row for row, one in enumerate(self.passages) if word in one.text], dtype=np.int64)
            else:
                found = [self.by_word[one] for one in {word, *others} if one in self.by_word]
                rows = np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
            before, after = (int(world[rows].sum()) for world in self.worlds)
            self.known[key] = _Rows(rows, (before, after), frozenset(rows.tolist()))
        return self.known[key]

    def within(self, project: str) -> NDArray[np.bool_]:
        """Return which passages belong to a project."""
        if project not in self.of_project:
            self.of_project[project] = np.array([one.project == project for one in self.passages], dtype=bool)
        return self.of_project[project]


class _ReplayedQuestion:
    """A question with what both worlds know of its words."""

    def __init__(self, asked: Asked, index: _Index) -> None:
        outline = asked.outline
        self.asked, self.limit = asked, outline["limit"]
        self.late: dict[tuple[float, ...], dict[int, float]] = {}
        self.terms = {word: others for word, *others in outline["terms"]}
        self.found = [index.find(word, others) for word, others in self.terms.items()]
        # A search of company knowledge alone weighs words by what company knowledge has; one of everything by the
        # counts of then, with what the decision adds or takes.
        self.is_of_company = asked.how in {AskedForm.RECALL, AskedForm.COMPANY}
        self.weights = [self._weigh(world) for world in (0, 1)]
        self.shares = [np.array(weights) / (sum(weights) or 1.0) for weights in self.weights]
        self.only = asked.project if asked.how in {AskedForm.SEARCH, AskedForm.COMPANY} else ""

    def _weigh(self, world: int) -> list[float]:
        counts = [float(found.counts[world]) for found in self.found]
        if not self.is_of_company:
            gained = [found.counts[world] - found.counts[0] for found in self.found]
            counts = [max(0.0, then + more) for then, more in zip(self.asked.outline["counts"], gained, strict=True)]
        return word_weights([counts]) if counts else []

    @property
    def shifts(self) -> bool:
        """Whether the words of what changes make the others weigh otherwise."""
        before, after = self.shares
        return bool(len(before)) and float(np.abs(before - after).max()) > SHIFT

    def missing(self, world: int) -> frozenset[str]:
        """Return the words that no passage has, nor another form of them."""
        if not self.is_of_company:
            return frozenset(self.asked.outline["missing"])
        counts = {word: found.counts[world] for word, found in zip(self.terms, self.found, strict=True)}
        known = {word[:FORM_CHARS] for word, count in counts.items() if count}
        return frozenset(word for word, count in counts.items() if not (count or word[:FORM_CHARS] in known))

    def there(self, index: _Index, world: int) -> NDArray[np.bool_]:
        """Return which passages this question may find in a world."""
        return index.worlds[world] & index.within(self.only) if self.only else index.worlds[world]

    def keyword(self, index: _Index, world: int) -> Scores:
        """Return the share of its words that each passage has."""
        scores = np.zeros(len(index.ids), dtype=np.float32)
        for found, share in zip(self.found, self.shares[world], strict=True):
            scores[found.rows] += np.float32(share)
        return scores


def _as_units(vectors: Scores) -> Scores:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def _compare(questions: Sequence[_ReplayedQuestion], index: _Index) -> Scores:
    """Return the cosine of each question and each passage."""
    asked = np.array([np.frombuffer(one.asked.vector, dtype=np.float16) for one in questions], dtype=np.float32)
    return _as_units(asked) @ index.vectors.T


def _find_near(questions: Sequence[_ReplayedQuestion], cosines: Scores, index: _Index) -> list[int]:
    """Return the questions whose answers what changes may change."""
    if live.SEARCH_FUSION != "blend":
        return list(range(len(questions)))
    is_near = np.zeros(len(questions), dtype=bool)
    for world in (0, 1):
        keyword = _keyword_scores(questions, index, world)
        there = np.array([one.there(index, world) for one in questions])
        scores = np.where(there, WORDS * keyword + MEANING * np.maximum(cosines, 0), -1)
        best = scores[:, index.changed].max(axis=1)
        of_changed, words = cosines[:, index.changed], keyword[:, index.changed]
        answers = (of_changed + WORDS_COUNT * words >= FLOOR - ROUNDING) | (words >= ALL_WORDS - ROUNDING)
        answers |= ~index.has_vector[index.changed]
        may = (answers & there[:, index.changed]).any(axis=1)
        is_near |= (best >= _ends(questions, scores) - NEAR) & (best >= 0) & (may | _lists_all(questions))
    return [number for number, one in enumerate(questions) if is_near[number] or one.shifts]


def _lists_all(questions: Sequence[_ReplayedQuestion]) -> NDArray[np.bool_]:
    """Return which questions are answered with what merely comes closest, too."""
    return np.array([one.asked.how in {AskedForm.SEARCH, AskedForm.COMPANY} for one in questions])


def _ends(questions: Sequence[_ReplayedQuestion], scores: Scores) -> Scores:
    """Return for each question the score of the last passage that an answer has room for."""
    ends = np.full(len(questions), -1, dtype=np.float32)
    for limit in {one.limit for one in questions}:
        of_limit = np.array([one.limit == limit for one in questions])
        if scores.shape[1] > limit:
            ends[of_limit] = np.partition(scores[of_limit], -limit, axis=1)[:, -limit]
    return ends


def _keyword_scores(questions: Sequence[_ReplayedQuestion], index: _Index, world: int) -> Scores:
    width = len(index.ids)
    rows = [number * width + found.rows for number, one in enumerate(questions) for found in one.found]
    shares = [share for one in questions for share in one.shares[world]]
    if not rows:
        return np.zeros((len(questions), width), dtype=np.float32)
    each = np.repeat(shares, [len(one) for one in rows])
    flat = np.bincount(np.concatenate(rows), weights=each, minlength=len(questions) * width)
    return flat.reshape(len(questions), width).astype(np.float32)


def _answer(question: _ReplayedQuestion, cosines: Scores, index: _Index, world: int) -> Told:
    """Return the company entries that the answer names in a world, in their order."""
    company = _rank(question, cosines, index, world)
    names = _COMPOSE[question.asked.how](question, company, world)
    return tuple(int(item.source_id) for item in names if item.kind == Kind.COMPANY)


def _rank(question: _ReplayedQuestion, cosines: Scores, index: _Index, world: int) -> list[Finding]:
    """Return the best company entries for a question as the search ranks them, each by its best passage."""
    keyword = question.keyword(index, world)
    rows = _candidates(question, cosines, keyword, index, world)
    shares, known = keyword[rows].tolist(), index.has_vector[rows].tolist()
    places = rows.tolist()
    words = {row: share for row, share in zip(places, shares, strict=True) if share > 0}
    near = {row: one for row, one, has in zip(places, cosines[rows].tolist(), known, strict=True) if has}
    alone = _fuse(rows, keyword, cosines, words, near, limit=question.limit)
    best = sorted(alone, key=lambda row: -alone[row])[:RERANKED]
    scores = _add_late(question, alone, best, index, world)
    order = sorted(scores, key=lambda row: (-round(scores[row], 4), -int(index.ids[row])))
    found: dict[int, Finding] = {}
    for row in order:
        passage = index.passages[row]
        if passage.entry_id not in found:
            found[passage.entry_id] = _finding(question, passage, scores[row], words.get(row), near.get(row), row)
        if len(found) == question.limit:
            break
    return list(found.values())


def _fuse(
    rows: NDArray[np.int64],
    keyword: Scores,
    cosines: Scores,
    words: Mapping[int, float],
    near: Mapping[int, float],
    *,
    limit: int,
) -> dict[int, float]:
    """Return the fused scores of the passages; by the usual recipe, where each has a vector, of the best ones alone."""
    if live.SEARCH_FUSION != "blend" or len(near) < len(rows):
        return {row: one.score for row, one in fuse(words, near).items()}
    scores = WORDS * keyword[rows].astype(np.float64) + MEANING * np.maximum(cosines[rows], 0).astype(np.float64)
    best = np.argsort(-scores, kind="stable")[: RERANKED + limit]
    return dict(zip(rows[best].tolist(), scores[best].tolist(), strict=True))


def _candidates(
    question: _ReplayedQuestion, cosines: Scores, keyword: Scores, index: _Index, world: int
) -> NDArray[np.int64]:
    """Return the passages that either retriever brings."""
    there = np.flatnonzero(question.there(index, world))
    named, near = there[keyword[there] > 0], there[index.has_vector[there]]
    named = named[np.argsort(-keyword[named], kind="stable")][:CANDIDATES]
    near = near[np.argsort(-cosines[near], kind="stable")][:CANDIDATES]
    return np.unique(np.concatenate((near, named)))


def _add_late(
    question: _ReplayedQuestion, alone: Mapping[int, float], best: Sequence[int], index: _Index, world: int
) -> dict[int, float]:
    """Return the scores moved by late interaction, against the average of this search."""
    asked, outline = question.asked, question.asked.outline
    signs = {row: kept for row in best if (kept := index.passages[row].tokens)}
    if not asked.tokens or not signs:
        return dict(alone)
    matrix = np.frombuffer(asked.tokens, dtype=np.uint8).reshape(len(outline["places"]), -1)
    tokens = weigh_words(outline["places"], matrix, _weights_by_form(question, world))
    # Where the words weigh the same in both worlds, the second one has little left to compare.
    compared = question.late.setdefault(tuple(question.weights[world]), {})
    new = {row: kept for row, kept in signs.items() if row not in compared}
    compared |= similarities(tokens, new, bytes_each=matrix.shape[1])
    late = {row: compared[row] for row in signs if row in compared}
    # In a search of everything the average is that of everything.
    of_all = None if question.is_of_company else outline["usual"]
    usual = (fmean(late.values()) if late else 0.0) if of_all is None else of_all
    return {row: score + LATE * (late.get(row, usual) - usual) for row, score in alone.items()}


def _weights_by_form(question: _ReplayedQuestion, world: int) -> dict[str, float]:
    weights = dict(zip(question.terms, question.weights[world], strict=True))
    return {other: weights[word] for word, others in question.terms.items() for other in others} | weights


def _finding(
    question: _ReplayedQuestion,
    passage: CompanyPassage,
    score: float,
    keyword: float | None,
    vector: float | None,
    row: int,
) -> Finding:
    matched = [word for word, found in zip(question.terms, question.found, strict=True) if row in found.members]
    return _make_finding(
        "company", str(passage.entry_id), score, keyword, vector, matched, passage.project, passage.text
    )


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
    for group, _, item in _others(question, world):
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
    """Return what is told before a prompt: what may answer, of other projects last, as far as it fits."""
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
    others = [(cost, item) for _, cost, item in _others(question, world)]
    priced = [(min(LINE_TOKENS - 30, count_tokens(item.text)) + 30, item) for item in company]
    return sorted([*others, *priced], key=lambda one: -one[1].score)[: question.limit]


_COMPOSE: dict[str, Callable[[_ReplayedQuestion, list[Finding], int], list[Finding]]] = {
    AskedForm.RECALL: _compose_recall,
    AskedForm.COMPANY: _compose_company,
    AskedForm.SEARCH: _compose_search,
    AskedForm.PROMPT: _compose_prompt,
}

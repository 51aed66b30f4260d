"""Hybrid search: by keyword and by meaning, over what the user may see, fused into one ranking."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import perf_counter
from typing import Any
from uuid import UUID

import structlog
from django.db import connections, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Left, Length, Right
from django.utils import timezone
from pgvector import HalfVector

from accounts.models import User
from bigmind.core.fixed_queries import FixedQuery
from bigmind.core.metrics import FOUND, SEARCH_SECONDS, SEARCHES
from bigmind.core.periods import Period, find_period
from bigmind.core.replicas import read_alias, read_cursor
from knowledge.embeddings.providers import EmbedderError, TokenSigns, provider
from knowledge.embeddings.retry import embed_query
from knowledge.models import Chunk, EmbeddingSpace, Fact, Kind, Passage
from knowledge.search.filters import Filters, Sql, of_scopes
from knowledge.search.frequencies import correct_words, coverage, most_selective, word_weights
from knowledge.search.fusion import (
    NEAR_TIE,
    PERIOD,
    SAME_THING,
    Fused,
    Turn,
    add_late,
    fuse,
    put_newest_first,
    weigh_turns,
)
from knowledge.search.indexes import Scope, scopes_of
from knowledge.search.late_interaction import similarities, weigh_tokens
from knowledge.search.names import Synonyms
from knowledge.search.retrievers import (
    CANDIDATES,
    MOST_COUNTED,
    Candidate,
    KeywordCandidates,
    alternatives,
    any_of,
    english_forms_of,
    is_pair,
    lexemes_of,
    merge_candidates,
    retrieve_by_meaning,
    retrieve_by_words,
    score_by_other_retriever,
    terms_of,
    tune,
)

__all__ = ["CANDIDATES", "Filters", "Finding", "Findings", "cosines_each", "search", "search_each"]

RERANKED = 50
"""How many of the best are compared once more, word by word."""
FOLLOWING = 3
"""How many are read beside those that a single search shows."""
NEWEST_OF = 20
"""Among how many of the best facts it is looked which are about the same thing."""
FORM_CHARS = 5
"""Letters that the forms of one word have in common: where a passage has one form, the others are not misspelt."""
SHORT_TURN = 400
"""Characters of an exchange whose neighbours say what it is about. A longer one says that itself."""
NAME_CHARS = 40

_SIGNS = """
SELECT passage.id, cached.tokens FROM knowledge_passage AS passage
JOIN knowledge_cachedvector AS cached ON cached.space_id = %s AND cached.digest = passage.digest
WHERE passage.id = ANY(%s) AND {scope} AND cached.tokens <> ''
"""
_ALIKE = """
SELECT one.passage_id, other.passage_id, 1 - (one.vector <=> other.vector)
FROM knowledge_passagevector AS one
JOIN knowledge_passagevector AS other ON other.space_id = one.space_id AND other.passage_id > one.passage_id
WHERE one.space_id = %s AND one.passage_id = ANY(%s) AND other.passage_id = ANY(%s)
    AND one.owner_id = %s AND other.owner_id = %s
    AND one.vector IS NOT NULL AND other.vector IS NOT NULL
"""
_SHOWN = """
SELECT passage.id, substr(passage.text, passage.head + 1), passage.created_at, passage.project, ARRAY(
    SELECT word.lexeme FROM unnest(%s::text[], %s::text[]) AS word(lexeme, term)
    WHERE CASE WHEN word.term = '' THEN strpos(passage.text, word.lexeme) > 0
        ELSE passage.lexemes @@ word.term::tsquery END
)
FROM knowledge_passage AS passage WHERE passage.id = ANY(%s) AND {scope}
"""
_SEARCHED = """
SELECT count(*) FROM (SELECT 1 FROM knowledge_passage AS passage WHERE {condition} LIMIT {limit}) AS searched
"""
# A search takes milliseconds: starting parallel workers would take longer. And every search has other filters, which a
# generic plan would ignore.
_SHORT = {"max_parallel_workers_per_gather": "0", "plan_cache_mode": "force_custom_plan"}

_WORD = re.compile(r"\w+")

log = structlog.get_logger()


@dataclass(frozen=True)
class Finding:
    """One thing that was found, by its best passage.

    `keyword` is the share of the question's words that the passage has, `vector` the cosine of both, `late` how well
    their tokens meet, `support` what its neighbours add, and `of_period` what the question's period adds or takes; None
    where that is not known.
    """

    kind: str
    source_id: str
    text: str
    score: float
    retrievers: tuple[str, ...]
    matched: list[str]
    created_at: datetime
    project: str
    keyword: float | None = None
    vector: float | None = None
    support: float = 0.0
    of_period: float = 0.0
    late: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Findings:
    """What was found, the best first, out of `total` candidates; `fallback` when the question could not be embedded.

    `milliseconds` says how long each step took: `keyword`, `vector` (with embedding the question), `fusion`;
    `candidates` how many passages each retriever found. `vector` is the question's own, in `space`. `waiting` of
    `searched` passages have no vector yet. `weights` says how much each word of the question counts; those in `missing`
    are in no passage, nor is another form of them. `text` is the question with its corrections, `counts` says in
    how many passages each word is, `terms` has for each word all that count as it, `tokens` those of the question.
    `following` are the first few after `items`: what moves up where one of these goes. What was said in `period` was
    preferred.
    """

    items: list[Finding]
    total: int
    fallback: bool
    reason: str = ""
    milliseconds: dict[str, float] = field(default_factory=dict)
    candidates: dict[str, int] = field(default_factory=dict)
    vector: HalfVector | None = None
    space: EmbeddingSpace | None = None
    waiting: int = 0
    searched: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    text: str = ""
    counts: Mapping[str, float] = field(default_factory=dict)
    terms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tokens: TokenSigns | None = None
    following: Sequence[Finding] = ()
    period: Period | None = None

    @property
    def notice(self) -> str:
        """What could not be searched by meaning, in words for the reader; empty: everything was."""
        if self.fallback:
            return f"By words alone: {self.reason}"
        if not self.waiting:
            return ""
        waiting, searched = (
            f"more than {MOST_COUNTED:,}" if number >= MOST_COUNTED else f"{number:,}"
            for number in (self.waiting, max(self.waiting, self.searched))
        )
        return f"{waiting} of {searched} texts are still being indexed by meaning: until then only their words count."


@dataclass(frozen=True)
class _Question:
    """A question as both retrievers need it. Without a vector, `reason` says why."""

    lexemes: list[str]
    vector: HalfVector | None = None
    space: EmbeddingSpace | None = None
    reason: str = ""
    synonyms: Synonyms | None = None
    text: str = ""
    tokens: TokenSigns | None = None
    period: Period | None = None
    owner: UUID | None = None

    @property
    def seen(self) -> Sql:
        """The condition that a passage is of who asks, or shared: where there are partitions, it says which to read."""
        return of_scopes("passage", [Scope(self.owner), Scope(None)])


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


@dataclass(frozen=True)
class _Found:
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
class _Ranked:
    """The best passage of one thing, with the parts of its score."""

    candidate: Candidate
    fused: Fused
    score: float
    support: float
    of_period: float
    late: float | None = None


@dataclass(frozen=True)
class _RankedThings:
    """What one filter leaves, the best first, with the question as it was corrected for it.

    `took` has the seconds of each retriever, `since` the moment at which both had answered.
    """

    question: _Question
    found: _Found
    things: list[_Ranked]
    took: Mapping[str, float]
    since: float


def search(
    query: str,
    *,
    owner: User,
    filters: Filters,
    limit: int,
    offset: int = 0,
    synonyms: Synonyms | None = None,
    asked_at: datetime | None = None,
) -> Findings:
    """Return what fits a question best. When the embedder fails, it searches by keyword alone and sets `fallback`.

    It takes the best CANDIDATES of each retriever in each scope, scores each candidate by both, fuses the scores,
    compares the best RERANKED word by word, lifts neighbouring exchanges and what was said when the question says, and
    returns the best passage of each thing. `limit` and `offset` cut a page out of that.

    Args:
        synonyms: For each word all that mean the same: a passage with one of them counts as having the word.
        asked_at: The moment from which “yesterday” in the question counts. Default: now.
    """
    started = perf_counter()
    question = replace(_question(query, synonyms), owner=owner.pk, period=find_period(query, now=asked_at))
    embedding = perf_counter() - started
    with _short_queries():
        scopes = scopes_of(owner, shared=filters.shared)
        return _answer(question, owner, filters, scopes, limit, offset, embedding=embedding, following=FOLLOWING)


def search_each(query: str, *, owner: User, filters: Iterable[Filters], limit: int) -> list[Findings]:
    """Return what fits a question best, for each of several filters: the question is embedded once for all of them."""
    started, filters = perf_counter(), list(filters)
    question = replace(_question(query), owner=owner.pk, period=find_period(query))
    embedding = perf_counter() - started
    with _short_queries():
        scopes = scopes_of(owner, shared=any(one.shared for one in filters))
        return [_answer(question, owner, one, scopes, limit, embedding=embedding) for one in filters]


def cosines_each(query: str, *, owner: User, filters: Iterable[Filters], limit: int) -> list[dict[str, float | None]]:
    """Return the ids of what fits a text best, for each of several filters, with how near each is in meaning.

    It finds what `search_each` does, for comparing: no text is read that only a reader would need. A cosine is None
    where it is not known.
    """
    started, filters = perf_counter(), list(filters)
    question = replace(_question(query), owner=owner.pk, period=find_period(query))
    embedding = perf_counter() - started
    near = []
    with _short_queries():
        scopes = scopes_of(owner, shared=any(one.shared for one in filters))
        for one in filters:
            ranking = _rank_things(question, owner, one, scopes, embedding=embedding)
            best = ranking.things[:limit]
            _count_metrics(ranking, best)
            near.append(
                {thing.candidate.source_id: ranking.found.vector.get(thing.candidate.passage) for thing in best}
            )
    return near


@contextmanager
def _short_queries() -> Iterator[None]:
    database = read_alias()
    begins_here = not connections[database].in_atomic_block
    with transaction.atomic(using=database, savepoint=False), tune(_SHORT, ends_with_transaction=begins_here):
        yield


def _answer(
    question: _Question,
    owner: User,
    filters: Filters,
    scopes: Sequence[Scope],
    limit: int,
    offset: int = 0,
    *,
    embedding: float,
    following: int = 0,
) -> Findings:
    ranking = _rank_things(question, owner, filters, scopes, embedding=embedding)
    question, found = ranking.question, ranking.found
    searched = _count_passages(filters.roughly(_scopes_for(filters, scopes))) if found.waiting else 0
    things = ranking.things[offset : offset + limit + following]
    read = _read_findings(things, question, found)
    items = read[:limit]
    took = _count_metrics(ranking, things[:limit])
    return Findings(
        items,
        len(ranking.things),
        bool(question.reason),
        question.reason,
        {step: round(seconds * 1000, 2) for step, seconds in took.items()},
        found.brought,
        question.vector,
        question.space,
        found.waiting,
        searched,
        found.words,
        found.missing,
        question.text,
        found.counts,
        {word: alternatives(word, question.synonyms) for word in found.words},
        question.tokens,
        read[limit:],
        question.period,
    )


def _rank_things(
    question: _Question, owner: User, filters: Filters, scopes: Sequence[Scope], *, embedding: float
) -> _RankedThings:
    started = perf_counter()
    question = replace(question, period=filters.then or question.period)
    question, found = _candidates(question, filters, _scopes_for(filters, scopes))
    answered = perf_counter()
    took = {
        "keyword": found.keyword_seconds,
        "vector": embedding + answered - started - found.keyword_seconds,
    }
    return _RankedThings(question, found, _rank(found, question, owner), took, answered)


def _scopes_for(filters: Filters, scopes: Sequence[Scope]) -> list[Scope]:
    return [scope for scope in scopes if filters.shared or scope.owner]


def _count_metrics(ranking: _RankedThings, shown: Iterable[_Ranked]) -> dict[str, float]:
    """Count a search, and return the seconds that each of its steps took."""
    took = {**ranking.took, "fusion": perf_counter() - ranking.since}
    SEARCHES.labels("yes" if ranking.question.reason else "no").inc()
    for step, seconds in took.items():
        SEARCH_SECONDS.labels(step).observe(seconds)
    for one in shown:
        for retriever in one.fused.retrievers:
            FOUND.labels(retriever).inc()
    return took


def _question(query: str, synonyms: Synonyms | None = None) -> _Question:
    words = _Question(lexemes_of(query), synonyms={**english_forms_of(query), **(synonyms or {})}, text=query)
    try:
        embedder = provider()
        spaces = _ACTIVE_SPACE(embedder.space)
        if not spaces:
            return replace(words, reason="The vectors of this model are still being made.")
        [space] = spaces
        vectors, tokens = embed_query(embedder, query)
        vector = HalfVector(vectors[0].tolist())
        return replace(words, vector=vector, space=space, tokens=tokens[0] if tokens else None)
    except EmbedderError as error:
        log.warning("Search answers by keyword alone.", reason=error.reason)
        return replace(words, reason=error.reason)


def _candidates(question: _Question, filters: Filters, scopes: Sequence[Scope]) -> tuple[_Question, _Found]:
    """Run both retrievers in every scope, then let each of them score what only the other found.

    A word that no passage has and that seems misspelt is corrected besides: the question comes back with both.
    """
    few = {scope.owner: scope.is_large and filters.leave_few(scope) for scope in scopes}
    started = perf_counter()
    question, named = _match_words(question, filters, scopes, few)
    took, has = perf_counter() - started, {passage: found.has for passage, found in named.candidates.items()}
    if question.vector is None or question.space is None:
        brought = {"keyword": len(has), "vector": 0}
        return question, _Found(named.candidates, coverage(has, named.weights), brought=brought, keyword_seconds=took)
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
    return question, _Found(
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
    question: _Question, filters: Filters, scopes: Sequence[Scope], few: Mapping[UUID | None, bool]
) -> tuple[_Question, _KeywordMatches]:
    """Run the keyword retriever in every scope, once more when a word is corrected; the question comes back with it."""
    words = most_selective(question.lexemes, scopes)

    def ask(synonyms: Synonyms | None) -> list[KeywordCandidates]:
        return [retrieve_by_words(words, filters, scope, few=few[scope.owner], synonyms=synonyms) for scope in scopes]

    asked = ask(question.synonyms)
    missing = _unknown(words, asked)
    corrections = correct_words(missing, scopes)
    # A word that another kind has is its own correction: to ask for it once more would find the same.
    if misspelt := {word: others for word, others in corrections.items() if others != {word}}:
        question = _correct(question, misspelt)
        asked = ask(question.synonyms)
    candidates = merge_candidates(found for one in asked for found in one.candidates)
    counts = [one.counts for one in asked if one.counts]
    in_all = [sum(scopes) for scopes in zip(*counts, strict=True)]
    unknown = frozenset(missing).difference(corrections)
    return question, _KeywordMatches(words, word_weights(counts), candidates, unknown, in_all)


def _compare_meaning(
    question: _Question, filters: Filters, scopes: Sequence[Scope], few: Mapping[UUID | None, bool]
) -> dict[int, Candidate]:
    """Run the vector retriever in every scope, and once more among what was said in the period of the question."""
    vector, space = question.vector, question.space
    if vector is None or space is None:
        return {}
    near = merge_candidates(
        found for scope in scopes for found in retrieve_by_meaning(vector, space, filters, scope, few=few[scope.owner])
    )
    if question.period:
        within = filters.within(question.period.start, question.period.end)
        near |= merge_candidates(
            found for scope in scopes for found in retrieve_by_meaning(vector, space, within, scope, few=True)
        )
    return near


def _unknown(words: Sequence[str], asked: Sequence[KeywordCandidates]) -> list[str]:
    """Return the words that no passage has, nor any other form of them."""
    counts = [sum(scopes) for scopes in zip(*(one.counts for one in asked if one.counts), strict=True)]
    known = {word[:FORM_CHARS] for word, count in zip(words, counts, strict=False) if count}
    return [word for word, count in zip(words, counts, strict=False) if not (count or word[:FORM_CHARS] in known)]


def _correct(question: _Question, corrections: Synonyms) -> _Question:
    """Return the question with the corrections beside its misspelt words, and its vector between those of both."""
    synonyms = {**(question.synonyms or {}), **corrections}
    text = _WORD.sub(lambda found: min(corrections.get(found[0].casefold(), [found[0]])), question.text)
    corrected = replace(question, synonyms=synonyms)
    if question.vector is None or text == question.text:
        return corrected
    try:
        vectors, tokens = embed_query(provider(), text)
    except EmbedderError:
        return corrected
    between = [one + other for one, other in zip(question.vector.to_list(), vectors[0].tolist(), strict=True)]
    return replace(corrected, text=text, vector=HalfVector(between), tokens=tokens[0] if tokens else None)


def _weights_with_corrections(weights: dict[str, float], question: _Question) -> dict[str, float]:
    """Return the weights of words, and of what was put beside them."""
    others = {
        other: weights[word] for word, same in (question.synonyms or {}).items() if word in weights for other in same
    }
    return {**others, **weights}


def _count_passages(condition: Sql) -> int:
    with read_cursor() as cursor:
        cursor.execute(_SEARCHED.format(condition=condition.text, limit=MOST_COUNTED), condition.parameters)
        return int(cursor.fetchone()[0])


def _rank(found: _Found, question: _Question, owner: User) -> list[_Ranked]:
    """Fuse the scores of both retrievers, and return the best passage of each thing, the best first.

    Scores are compared at four digits, so that equals stay in one order whatever the processor rounds: newest first.
    """
    fused = fuse(found.keyword, found.vector)
    alone = {passage: one.score for passage, one in fused.items()}
    late = _compare_tokens(sorted(alone, key=lambda passage: -alone[passage])[:RERANKED], question, found)
    moved = add_late(alone, late)
    turns = _turns(found.candidates.values(), owner)
    told = weigh_turns(moved, turns, question.text)
    support = {passage: score - moved.get(passage, 0.0) for passage, score in told.items()}
    scores = dict(told)
    if question.period:
        for passage in _passages_within(question, question.period, scores, turns):
            scores[passage] += PERIOD
    of_another_time = _facts_of_another_time(question.period, found.candidates.values(), owner)
    for passage in of_another_time:
        scores[passage] -= PERIOD
    order = sorted(scores, key=lambda passage: (-round(scores[passage], 4), *_age(found.candidates[passage])))
    things: dict[tuple[str, str], _Ranked] = {}
    for passage in _put_newest_first(order, scores, found, question, of_another_time):
        candidate = found.candidates[passage]
        of_period = scores[passage] - told[passage]
        ranked = _Ranked(candidate, fused[passage], scores[passage], support[passage], of_period, late.get(passage))
        things.setdefault((candidate.kind, candidate.source_id), ranked)
    return list(things.values())


def _compare_tokens(best: Sequence[int], question: _Question, found: _Found) -> dict[int, float]:
    """Return how well the tokens of these passages meet those of the question; nothing without token vectors."""
    if question.tokens is None or question.space is None or not best:
        return {}
    with read_cursor() as cursor:
        seen = question.seen
        cursor.execute(_SIGNS.format(scope=seen.text), [question.space.pk, list(best), *seen.parameters])
        signs = {passage: bytes(tokens) for passage, tokens in cursor.fetchall()}
    tokens = weigh_tokens(question.text, question.tokens, found.weights)
    return similarities(tokens, signs, bytes_each=question.tokens.signs.shape[1])


def _put_newest_first(
    order: Sequence[int],
    scores: Mapping[int, float],
    found: _Found,
    question: _Question,
    of_another_time: Collection[int],
) -> Sequence[int]:
    """Return the order in which, of the best facts about the same thing, the newest comes first."""
    best = [passage for passage in order[:RERANKED] if passage not in of_another_time]
    facts = [passage for passage in best if found.candidates[passage].kind == Kind.FACT][:NEWEST_OF]
    if question.space is None or len(facts) < 2 or scores[facts[0]] - scores[facts[1]] > NEAR_TIE:
        return order
    with read_cursor() as cursor:
        cursor.execute(_ALIKE, [question.space.pk, facts, facts, question.owner, question.owner])
        near = cursor.fetchall()
    told = _TOLD(question.owner, facts)
    words = {passage.pk: set(_WORD.findall(passage.words.casefold())) for passage in told}
    ages = {passage.pk: (passage.created_at, passage.pk) for passage in told}
    same = {
        frozenset((one, other))
        for one, other, cosine in near
        if cosine + len(words[one] & words[other]) / max(1, len(words[one] | words[other])) >= SAME_THING
    }
    return put_newest_first(order, scores, ages, same) if same else order


def _age(candidate: Candidate) -> tuple[bool, int]:
    """Return the sort key among equals: the newest first. Documentation has no age and keeps its source's order."""
    is_documentation = candidate.kind == Kind.REFERENCE
    return is_documentation, candidate.passage if is_documentation else -candidate.passage


def _read_findings(ranked: Sequence[_Ranked], question: _Question, found: _Found) -> list[Finding]:
    """Read the passages that are shown. One that was deleted meanwhile is left out."""
    with read_cursor() as cursor:
        terms = [
            "" if is_pair(lexeme) else any_of(alternatives(lexeme, question.synonyms)) for lexeme in question.lexemes
        ]
        shown, seen = [one.candidate.passage for one in ranked], question.seen
        cursor.execute(_SHOWN.format(scope=seen.text), [question.lexemes, terms, shown, *seen.parameters])
        rows = {row[0]: row[1:] for row in cursor.fetchall()}
    findings = []
    for one in ranked:
        passage = one.candidate.passage
        if passage in rows:
            text, created_at, project, matched = rows[passage]
            findings.append(
                Finding(
                    kind=one.candidate.kind,
                    source_id=one.candidate.source_id,
                    text=text,
                    score=round(min(1.0, one.score), 4),
                    retrievers=one.fused.retrievers,
                    matched=matched,
                    created_at=created_at,
                    project=project,
                    keyword=found.keyword.get(passage),
                    vector=found.vector.get(passage),
                    support=round(one.support, 4),
                    of_period=one.of_period,
                    late=one.late,
                    parts=one.fused.parts,
                )
            )
    return findings


def _facts_of_another_time(period: Period | None, candidates: Iterable[Candidate], owner: User) -> set[int]:
    """Return the passages of facts that are known not to have held in a period, or not to hold now."""
    sources = {found.passage: int(found.source_id) for found in candidates if found.kind == Kind.FACT}
    if not sources:
        return set()
    now = timezone.now()
    start, end = period or (now, now)
    other = {fact for (fact,) in _OF_ANOTHER_TIME(owner.pk, start, end, sorted(set(sources.values())))}
    return {passage for passage, fact in sources.items() if fact in other}


def _of_another_time(owner_id: UUID, start: datetime, end: datetime, ids: list[int]) -> QuerySet[Any, Any]:
    replacing = Fact.objects.filter(superseded_by=OuterRef("pk"))
    begins_later = Q(valid_from__gte=end) | Q(Exists(replacing), valid_from=None, created_at__gte=end)
    ended = (
        Q(valid_until__lte=start)
        | Q(superseded_by__valid_from__lte=start)
        | Q(superseded_by__valid_from=None, superseded_by__created_at__lte=start)
    )
    return Fact.objects.of(owner_id).filter(begins_later | ended, pk__any_of=ids).values_list("pk")


_OF_ANOTHER_TIME = FixedQuery(_of_another_time)
_ACTIVE_SPACE = FixedQuery(lambda name: EmbeddingSpace.objects.filter(name=name).exclude(active_since=None)[:1])
_TOLD = FixedQuery(
    lambda owner, ids: Passage.objects.filter(owner=owner, pk__any_of=ids).only("text", "head", "created_at")
)


def _turns(candidates: Iterable[Candidate], owner: User) -> dict[int, Turn]:
    """Return for the passages of flagged exchanges where they stand, and what of them counts beside their words."""
    sources = {found.passage: int(found.source_id) for found in candidates if found.kind == Kind.CHUNK}
    if not sources:
        return {}
    rows = Chunk.objects.filter(user=owner, pk__in=sources.values()).annotate(
        length=Length("content"), start=Left("content", NAME_CHARS), end=Right("content", NAME_CHARS)
    )
    columns = ("pk", "session_id", "seq", "created_at", "role", "length", "start", "end")
    chunks = {
        pk: Turn((session, seq), said_at, role, length > SHORT_TURN, end.rstrip().endswith("?"), _speaker(start))
        for pk, session, seq, said_at, role, length, start, end in rows.values_list(*columns)
    }
    return {passage: chunks[chunk] for passage, chunk in sources.items() if chunk in chunks}


def _speaker(start: str) -> str:
    """Return the name before the words of a turn, as in “Ruth: I have moved.”; empty without one."""
    name, colon, _ = start.partition(":")
    return name.casefold() if colon and name.isalpha() else ""


def _passages_within(
    question: _Question, period: Period, passages: Iterable[int], turns: Mapping[int, Turn]
) -> set[int]:
    """Return those passages that were said in a period; exchanges have their own time, others their passage's."""
    others = [passage for passage in passages if passage not in turns]
    seen = Passage.objects.filter(Q(owner=question.owner) | Q(owner=None))
    within = seen.filter(pk__in=others, created_at__gte=period.start, created_at__lt=period.end)
    said = {passage for passage, turn in turns.items() if period.start <= turn.said_at < period.end}
    return said | set(within.exclude(kind=Kind.REFERENCE).values_list("pk", flat=True))

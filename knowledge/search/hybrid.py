"""Hybrid search: by the words of a question and by its meaning, over what the actor may see, fused into one ranking."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import perf_counter

import structlog
from django.db import connection, transaction
from pgvector import HalfVector

from accounts.models import User
from bigmind.core.metrics import FOUND, SEARCH_SECONDS, SEARCHES
from knowledge.embeddings.providers import provider
from knowledge.embeddings.retry import embed_query
from knowledge.embeddings.vectors import EmbedderError
from knowledge.models import Chunk, EmbeddingSpace, Kind
from knowledge.search.filters import Filters, Sql
from knowledge.search.frequencies import coverage, most_telling, word_weights
from knowledge.search.fusion import Fused, fuse, support_neighbours
from knowledge.search.keyword import lexemes_of
from knowledge.search.retrievers import (
    CANDIDATES,
    MOST_COUNTED,
    Candidate,
    alternatives,
    any_of,
    best,
    by_meaning,
    by_other_arm,
    by_words,
    terms_of,
    tune,
)
from knowledge.search.scopes import scopes_of
from knowledge.search.synonyms import Synonyms

__all__ = ["CANDIDATES", "Filters", "Finding", "Findings", "search"]

_SHOWN = """
SELECT passage.id, substr(passage.text, passage.head + 1), passage.created_at, passage.project, ARRAY(
    SELECT word.lexeme FROM unnest(%s::text[], %s::text[]) AS word(lexeme, term)
    WHERE passage.lexemes @@ word.term::tsquery
)
FROM knowledge_passage AS passage WHERE passage.id = ANY(%s)
"""
_SEARCHED = """
SELECT count(*) FROM (SELECT 1 FROM knowledge_passage AS passage WHERE {condition} LIMIT {limit}) AS searched
"""
# A search is short: to start processes that help would take longer. And each has filters of its own, which a plan made
# for any of them would ignore.
_SHORT = {"max_parallel_workers_per_gather": "0", "plan_cache_mode": "force_custom_plan"}

log = structlog.get_logger()


@dataclass(frozen=True)
class Finding:
    """One thing that was found, by its best passage."""

    kind: str
    source_id: str
    text: str
    score: float
    arms: tuple[str, ...]
    matched: list[str]
    created_at: datetime
    project: str
    keyword: float | None = None
    vector: float | None = None
    support: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Findings:
    """What was found, the best first, out of `total` candidates; `fallback` when meaning could not be asked.

    `milliseconds` says how long each step took: `keyword`, `vector` (with embedding the question), `fusion`;
    `candidates` how many passages each arm found. `vector` is the question's own, in `space`. `waiting` of `searched`
    passages have no vector yet.
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
    """A question as both arms ask it. Without a vector, `reason` says why."""

    lexemes: list[str]
    vector: HalfVector | None = None
    space: EmbeddingSpace | None = None
    reason: str = ""
    synonyms: Synonyms | None = None


@dataclass(frozen=True)
class _Found:
    """The candidates of both arms, by passage, and what each arm says of all of them.

    `brought` says how many candidates each arm brought, `by_keyword_alone` the seconds that the words took. Of about
    `searched` passages `waiting` have no vector yet; when none waits, they are not counted.
    """

    candidates: dict[int, Candidate]
    keyword: dict[int, float]
    vector: dict[int, float] = field(default_factory=dict)
    brought: dict[str, int] = field(default_factory=dict)
    by_keyword_alone: float = 0.0
    waiting: int = 0
    searched: int = 0


@dataclass(frozen=True)
class _Ranked:
    """A passage that represents what it is a piece of, with how its score came about."""

    candidate: Candidate
    fused: Fused
    score: float
    support: float


def search(
    query: str, *, owner: User, filters: Filters, limit: int, offset: int = 0, synonyms: Synonyms | None = None
) -> Findings:
    """Find what fits a question best. When the embedder is away, words alone decide, and `fallback` says so.

    Args:
        synonyms: Of words, all that mean the same: a passage with one of them has the word of the question.
    """
    started = perf_counter()
    question = replace(_question(query), synonyms=synonyms)
    embedded = perf_counter()
    with transaction.atomic(savepoint=False), tune(_SHORT):
        found = _candidates(question, owner, filters)
    answered = perf_counter()
    ranked = _rank(found, owner)
    items = _read_findings(ranked[offset : offset + limit], question, found)
    took = {
        "keyword": found.by_keyword_alone,
        "vector": embedded - started + answered - embedded - found.by_keyword_alone,
        "fusion": perf_counter() - answered,
    }
    milliseconds = {step: round(seconds * 1000, 2) for step, seconds in took.items()}
    _count(question, took, items)
    return Findings(
        items,
        len(ranked),
        bool(question.reason),
        question.reason,
        milliseconds,
        found.brought,
        question.vector,
        question.space,
        found.waiting,
        found.searched,
    )


def _count(question: _Question, took: Mapping[str, float], shown: Iterable[Finding]) -> None:
    SEARCHES.labels("yes" if question.reason else "no").inc()
    for step, seconds in took.items():
        SEARCH_SECONDS.labels(step).observe(seconds)
    for finding in shown:
        for arm in finding.arms:
            FOUND.labels(arm).inc()


def _question(query: str) -> _Question:
    lexemes = lexemes_of(query)
    try:
        embedder = provider()
        space = EmbeddingSpace.objects.filter(name=embedder.space).exclude(active_since=None).first()
        if space is None:
            return _Question(lexemes, reason="The vectors of this model are still being made.")
        return _Question(lexemes, HalfVector(embed_query(embedder, query).tolist()), space)
    except EmbedderError as error:
        log.warning("Search answers by keyword alone.", reason=error.reason)
        return _Question(lexemes, reason=error.reason)


def _candidates(question: _Question, owner: User, filters: Filters) -> _Found:
    """Ask both arms in every scope, then each of them about what only the other found."""
    scopes = scopes_of(owner, shared=filters.shared)
    few = {scope.owner: scope.is_large and filters.leave_few(scope) for scope in scopes}
    started = perf_counter()
    words = most_telling(question.lexemes, scopes)
    asked = [by_words(words, filters, scope, few=few[scope.owner], synonyms=question.synonyms) for scope in scopes]
    named = best(found for one in asked for found in one.candidates)
    weights = word_weights([one.counts for one in asked if one.counts])
    took = perf_counter() - started
    has = {passage: found.has for passage, found in named.items()}
    if question.vector is None or question.space is None:
        return _Found(
            named, coverage(has, weights), brought={"keyword": len(named), "vector": 0}, by_keyword_alone=took
        )
    vector, space = question.vector, question.space
    near = best(found for scope in scopes for found in by_meaning(vector, space, filters, scope, few=few[scope.owner]))
    searched = filters.roughly(scopes)
    other = by_other_arm(
        terms_of(words, question.synonyms),
        vector,
        space,
        without_words=near.keys() - named.keys(),
        without_distance=named.keys() - near.keys(),
        searched=searched,
    )
    return _Found(
        candidates={**near, **named},
        keyword=coverage(has | other.has, weights),
        vector={passage: float(found.score) for passage, found in near.items()} | other.near,
        brought={"keyword": len(named), "vector": len(near)},
        by_keyword_alone=took,
        waiting=other.waiting,
        searched=_count_passages(searched) if other.waiting else 0,
    )


def _count_passages(condition: Sql) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_SEARCHED.format(condition=condition.text, limit=MOST_COUNTED), condition.parameters)
        return int(cursor.fetchone()[0])


def _rank(found: _Found, owner: User) -> list[_Ranked]:
    """Fuse both arms, and let the best passage of each thing stand for it: the best first, among equals the newest."""
    fused = fuse(found.keyword, found.vector)
    alone = {passage: one.score for passage, one in fused.items()}
    scores = support_neighbours(alone, _places(found.candidates.values(), owner))
    things: dict[tuple[str, str], _Ranked] = {}
    for passage in sorted(scores, key=lambda passage: (-round(scores[passage], 4), *_age(found.candidates[passage]))):
        candidate = found.candidates[passage]
        ranked = _Ranked(candidate, fused[passage], scores[passage], scores[passage] - alone[passage])
        things.setdefault((candidate.kind, candidate.source_id), ranked)
    return list(things.values())


def _age(candidate: Candidate) -> tuple[bool, int]:
    """The order among equals: the newest first. Documentation has no newest, and keeps the order of its source."""
    is_documentation = candidate.kind == Kind.REFERENCE
    return is_documentation, candidate.passage if is_documentation else -candidate.passage


def _read_findings(ranked: Sequence[_Ranked], question: _Question, found: _Found) -> list[Finding]:
    """Read the passages that are shown. One that was forgotten meanwhile is left out."""
    with connection.cursor() as cursor:
        terms = [any_of(alternatives(lexeme, question.synonyms)) for lexeme in question.lexemes]
        cursor.execute(_SHOWN, [question.lexemes, terms, [one.candidate.passage for one in ranked]])
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
                    arms=one.fused.arms,
                    matched=matched,
                    created_at=created_at,
                    project=project,
                    keyword=found.keyword.get(passage),
                    vector=found.vector.get(passage),
                    support=round(one.support, 4),
                    parts=one.fused.parts,
                )
            )
    return findings


def _places(candidates: Iterable[Candidate], owner: User) -> dict[int, tuple[object, int]]:
    """Where the passages of flagged exchanges stand in their sessions."""
    sources = {found.passage: int(found.source_id) for found in candidates if found.kind == Kind.CHUNK}
    if not sources:
        return {}
    chunks = {
        pk: (session, seq)
        for pk, session, seq in Chunk.objects.filter(user=owner, pk__in=sources.values()).values_list(
            "pk", "session_id", "seq"
        )
    }
    return {passage: chunks[chunk] for passage, chunk in sources.items() if chunk in chunks}

"""Hybrid search: by keyword and by meaning, over what the user may see, fused into one ranking."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import perf_counter

import structlog
from django.db import connection, transaction
from pgvector import HalfVector

from accounts.models import User
from bigmind.core.metrics import FOUND, SEARCH_SECONDS, SEARCHES
from knowledge.embeddings.providers import EmbedderError, provider
from knowledge.embeddings.retry import embed_query
from knowledge.models import Chunk, EmbeddingSpace, Kind
from knowledge.search.filters import Filters, Sql
from knowledge.search.frequencies import coverage, most_selective, word_weights
from knowledge.search.fusion import Fused, fuse, support_neighbours
from knowledge.search.indexes import scopes_of
from knowledge.search.names import Synonyms
from knowledge.search.retrievers import (
    CANDIDATES,
    MOST_COUNTED,
    Candidate,
    alternatives,
    any_of,
    lexemes_of,
    merge_candidates,
    retrieve_by_meaning,
    retrieve_by_words,
    score_by_other_retriever,
    terms_of,
    tune,
)

__all__ = ["CANDIDATES", "Filters", "Finding", "Findings", "search", "search_each"]

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
# A search takes milliseconds: starting parallel workers would take longer. And every search has other filters, which a
# generic plan would ignore.
_SHORT = {"max_parallel_workers_per_gather": "0", "plan_cache_mode": "force_custom_plan"}

log = structlog.get_logger()


@dataclass(frozen=True)
class Finding:
    """One thing that was found, by its best passage."""

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
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Findings:
    """What was found, the best first, out of `total` candidates; `fallback` when the question could not be embedded.

    `milliseconds` says how long each step took: `keyword`, `vector` (with embedding the question), `fusion`;
    `candidates` how many passages each retriever found. `vector` is the question's own, in `space`. `waiting` of
    `searched` passages have no vector yet.
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
    """A question as both retrievers need it. Without a vector, `reason` says why."""

    lexemes: list[str]
    vector: HalfVector | None = None
    space: EmbeddingSpace | None = None
    reason: str = ""
    synonyms: Synonyms | None = None


@dataclass(frozen=True)
class _Found:
    """The candidates of both retrievers, by passage, and the score of each retriever for all of them.

    `brought` has the number of candidates of each retriever, `keyword_seconds` the time of the keyword retriever. Of
    about `searched` passages `waiting` have no vector yet; when none waits, they are not counted.
    """

    candidates: dict[int, Candidate]
    keyword: dict[int, float]
    vector: dict[int, float] = field(default_factory=dict)
    brought: dict[str, int] = field(default_factory=dict)
    keyword_seconds: float = 0.0
    waiting: int = 0
    searched: int = 0


@dataclass(frozen=True)
class _Ranked:
    """The best passage of one thing, with the parts of its score."""

    candidate: Candidate
    fused: Fused
    score: float
    support: float


def search(
    query: str, *, owner: User, filters: Filters, limit: int, offset: int = 0, synonyms: Synonyms | None = None
) -> Findings:
    """Return what fits a question best. When the embedder fails, it searches by keyword alone and sets `fallback`.

    It takes the best CANDIDATES of each retriever in each scope, scores each candidate by both, fuses the scores, lifts
    neighbouring exchanges, and returns the best passage of each thing. `limit` and `offset` cut a page out of that.

    Args:
        synonyms: For each word all that mean the same: a passage with one of them counts as having the word.
    """
    started = perf_counter()
    question = replace(_question(query), synonyms=synonyms)
    return _answer(question, owner, filters, limit, offset, embedding=perf_counter() - started)


def search_each(query: str, *, owner: User, filters: Iterable[Filters], limit: int) -> list[Findings]:
    """Return what fits a question best, for each of several filters: the question is embedded once for all of them."""
    started = perf_counter()
    question = _question(query)
    embedding = perf_counter() - started
    return [_answer(question, owner, one, limit, embedding=embedding) for one in filters]


def _answer(
    question: _Question, owner: User, filters: Filters, limit: int, offset: int = 0, *, embedding: float
) -> Findings:
    started = perf_counter()
    with transaction.atomic(savepoint=False), tune(_SHORT):
        found = _candidates(question, owner, filters)
    answered = perf_counter()
    ranked = _rank(found, owner)
    items = _read_findings(ranked[offset : offset + limit], question, found)
    took = {
        "keyword": found.keyword_seconds,
        "vector": embedding + answered - started - found.keyword_seconds,
        "fusion": perf_counter() - answered,
    }
    milliseconds = {step: round(seconds * 1000, 2) for step, seconds in took.items()}
    _count_metrics(question, took, items)
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


def _count_metrics(question: _Question, took: Mapping[str, float], shown: Iterable[Finding]) -> None:
    SEARCHES.labels("yes" if question.reason else "no").inc()
    for step, seconds in took.items():
        SEARCH_SECONDS.labels(step).observe(seconds)
    for finding in shown:
        for retriever in finding.retrievers:
            FOUND.labels(retriever).inc()


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
    """Run both retrievers in every scope, then let each of them score what only the other found."""
    scopes = scopes_of(owner, shared=filters.shared)
    few = {scope.owner: scope.is_large and filters.leave_few(scope) for scope in scopes}
    started = perf_counter()
    words = most_selective(question.lexemes, scopes)
    asked = [
        retrieve_by_words(words, filters, scope, few=few[scope.owner], synonyms=question.synonyms) for scope in scopes
    ]
    named = merge_candidates(found for one in asked for found in one.candidates)
    weights = word_weights([one.counts for one in asked if one.counts])
    took = perf_counter() - started
    has = {passage: found.has for passage, found in named.items()}
    if question.vector is None or question.space is None:
        return _Found(named, coverage(has, weights), brought={"keyword": len(named), "vector": 0}, keyword_seconds=took)
    vector, space = question.vector, question.space
    near = merge_candidates(
        found for scope in scopes for found in retrieve_by_meaning(vector, space, filters, scope, few=few[scope.owner])
    )
    searched = filters.roughly(scopes)
    other = score_by_other_retriever(
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
        keyword_seconds=took,
        waiting=other.waiting,
        searched=_count_passages(searched) if other.waiting else 0,
    )


def _count_passages(condition: Sql) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_SEARCHED.format(condition=condition.text, limit=MOST_COUNTED), condition.parameters)
        return int(cursor.fetchone()[0])


def _rank(found: _Found, owner: User) -> list[_Ranked]:
    """Fuse the scores of both retrievers, and return the best passage of each thing, the best first.

    Scores are compared at four digits, so that equals stay in one order whatever the processor rounds: newest first.
    """
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
    """Return the sort key among equals: the newest first. Documentation has no age and keeps its source's order."""
    is_documentation = candidate.kind == Kind.REFERENCE
    return is_documentation, candidate.passage if is_documentation else -candidate.passage


def _read_findings(ranked: Sequence[_Ranked], question: _Question, found: _Found) -> list[Finding]:
    """Read the passages that are shown. One that was deleted meanwhile is left out."""
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
                    retrievers=one.fused.retrievers,
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
    """Return for the passages of flagged exchanges their session and the position in it."""
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

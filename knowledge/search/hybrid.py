"""Hybrid search: by the words of a question and by its meaning, over what the actor may see, fused into one ranking."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter
from typing import Any

import structlog
from django.db import connection
from pgvector import HalfVector

from accounts.models import User
from knowledge.embeddings.patience import embed_query
from knowledge.embeddings.providers import provider
from knowledge.embeddings.vectors import EmbedderError
from knowledge.models import Chunk, EmbeddingSpace, Kind
from knowledge.search.fusion import Fused, fuse, support_neighbours

CANDIDATES = 200

_VISIBLE = """
    passage.kind = ANY(%(kinds)s)
    AND (passage.owner_id = %(owner)s OR (passage.owner_id IS NULL AND %(shared)s))
    AND (%(project)s = '' OR passage.project = %(project)s)
    AND (%(since)s::timestamptz IS NULL OR passage.created_at >= %(since)s)
    AND (%(before)s::timestamptz IS NULL OR passage.created_at < %(before)s)
    AND (%(among)s::text[] IS NULL OR passage.source_id = ANY(%(among)s))
"""
_BY_KEYWORD = f"""
WITH words AS (
    SELECT string_agg(DISTINCT quote_literal(lexeme), ' | ')::tsquery AS terms
    FROM unnest(to_tsvector('english', %(query)s) || to_tsvector('simple', %(query)s))
)
SELECT passage.id, ts_rank(passage.lexemes, terms, 1) AS score
FROM knowledge_passage AS passage, words
WHERE passage.lexemes @@ terms AND {_VISIBLE}
ORDER BY score DESC, passage.id LIMIT {CANDIDATES}
"""
# The narrow table decides; the passage is joined for its filters. Exact: every vector the actor may see is compared.
_BY_VECTOR = f"""
SELECT vector.passage_id, 1 - (vector.vector <=> %(vector)s) AS score
FROM knowledge_passagevector AS vector JOIN knowledge_passage AS passage ON passage.id = vector.passage_id
WHERE vector.space_id = %(space)s AND vector.vector IS NOT NULL
    AND (vector.owner_id = %(owner)s OR (vector.owner_id IS NULL AND %(shared)s)) AND {_VISIBLE}
ORDER BY vector.vector <=> %(vector)s, vector.passage_id LIMIT {CANDIDATES}
"""
_SHOWN = """
SELECT passage.id, passage.kind, passage.source_id, passage.text, passage.created_at, passage.project,
    ARRAY(
        SELECT DISTINCT word.lexeme
        FROM unnest(to_tsvector('english', %(query)s) || to_tsvector('simple', %(query)s)) AS word
        WHERE passage.lexemes @@ quote_literal(word.lexeme)::tsquery
    )
FROM knowledge_passage AS passage WHERE passage.id = ANY(%(ids)s)
"""

log = structlog.get_logger()


@dataclass(frozen=True)
class Filters:
    """What may be found: `among` narrows it to the things with these ids. Filters hold exactly."""

    kinds: Collection[Kind]
    shared: bool = False
    project: str = ""
    since: datetime | None = None
    before: datetime | None = None
    among: Collection[str] | None = None


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


@dataclass(frozen=True)
class Findings:
    """What was found, the best first, out of `total` candidates; `fallback` when meaning could not be asked.

    `milliseconds` says how long each step took: `keyword`, `vector` (with embedding the question), `fusion`.
    """

    items: list[Finding]
    total: int
    fallback: bool
    reason: str = ""
    milliseconds: dict[str, float] = field(default_factory=dict)


def search(query: str, *, owner: User, filters: Filters, limit: int, offset: int = 0) -> Findings:
    """Find what fits a question best. When the embedder is away, words alone decide, and `fallback` says so."""
    parameters = _parameters(query, owner, filters)
    started = perf_counter()
    keyword = _scores(_BY_KEYWORD, parameters)
    asked = perf_counter()
    vector, reason = _by_meaning(query, parameters)
    answered = perf_counter()
    fused = fuse(keyword, vector)
    shown = {row[0]: row for row in _rows(_SHOWN, {"query": query, "ids": list(fused)})}
    alone = {passage: found.score for passage, found in fused.items()}
    scores = support_neighbours(alone, _places(shown.values(), owner))
    ranked = sorted(scores, key=lambda passage: (-scores[passage], passage))
    best: dict[tuple[str, str], Finding] = {}
    for passage in ranked:
        if passage in shown:
            support = scores[passage] - alone[passage]
            parts = (keyword.get(passage), vector.get(passage), round(support, 4))
            finding = _finding(shown[passage], scores[passage], fused[passage], *parts)
            best.setdefault((finding.kind, finding.source_id), finding)
    items = list(best.values())
    took = {"keyword": asked - started, "vector": answered - asked, "fusion": perf_counter() - answered}
    milliseconds = {step: round(seconds * 1000, 2) for step, seconds in took.items()}
    return Findings(items[offset : offset + limit], len(items), bool(reason), reason, milliseconds)


def _by_meaning(query: str, parameters: dict[str, Any]) -> tuple[dict[int, float], str]:
    try:
        embedder = provider()
        space = EmbeddingSpace.objects.filter(name=embedder.space).exclude(active_since=None).first()
        if space is None:
            return {}, "The vectors of this model are still being made."
        vector = HalfVector(embed_query(embedder, query).tolist())
    except EmbedderError as error:
        log.warning("Search answers by keyword alone.", reason=error.reason)
        return {}, error.reason
    return _scores(_BY_VECTOR, {**parameters, "vector": vector.to_text(), "space": space.pk}), ""


def _places(shown: Iterable[Sequence[Any]], owner: User) -> dict[int, tuple[object, int]]:
    """Where the passages of flagged exchanges stand in their sessions."""
    sources = {passage: int(source_id) for passage, kind, source_id, *_ in shown if kind == Kind.CHUNK}
    chunks = {
        pk: (session, seq)
        for pk, session, seq in Chunk.objects.filter(user=owner, pk__in=sources.values()).values_list(
            "pk", "session_id", "seq"
        )
    }
    return {passage: chunks[chunk] for passage, chunk in sources.items() if chunk in chunks}


def _parameters(query: str, owner: User, filters: Filters) -> dict[str, Any]:
    return {
        "query": query,
        "owner": owner.pk,
        "kinds": [str(kind) for kind in filters.kinds],
        "shared": filters.shared,
        "project": filters.project,
        "since": filters.since,
        "before": filters.before,
        "among": None if filters.among is None else list(filters.among),
    }


def _finding(
    row: Sequence[Any], score: float, fused: Fused, keyword: float | None, vector: float | None, support: float
) -> Finding:
    _, kind, source_id, text, created_at, project, matched = row
    score = round(score, 4)
    return Finding(kind, source_id, text, score, fused.arms, matched, created_at, project, keyword, vector, support)


def _scores(sql: str, parameters: dict[str, Any]) -> dict[int, float]:
    return {passage: float(score) for passage, score in _rows(sql, parameters)}


def _rows(sql: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())

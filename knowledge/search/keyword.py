"""Keyword search: the words of the question, any of them, ranked by how well a passage is covered.

The terms are OR-ed: with AND, a question of ten words finds almost nothing (ARCHITECTURE, “Search”). A question is
plain words: it is turned into lexemes by PostgreSQL, so no operator in it can change the query or make it fail.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounts.models import User
from knowledge.models import Kind

_QUESTION = """
WITH words AS (
    SELECT array_agg(DISTINCT lexeme) AS lexemes
    FROM unnest(to_tsvector('english', %(query)s) || to_tsvector('simple', %(query)s))
), question AS (
    SELECT lexemes, (SELECT string_agg(quote_literal(lexeme), ' | ') FROM unnest(lexemes) AS lexeme)::tsquery AS terms
    FROM words
), found AS (
    SELECT DISTINCT ON (kind, source_id) kind, source_id, text, passage.lexemes AS has, created_at,
        ts_rank(passage.lexemes, terms, 1) AS score
    FROM knowledge_passage AS passage, question
    WHERE passage.lexemes @@ terms AND owner_id = %(owner)s AND kind = ANY(%(kinds)s)
        AND (%(project)s = '' OR project = %(project)s)
        AND (%(among)s::text[] IS NULL OR source_id = ANY(%(among)s))
    ORDER BY kind, source_id, score DESC
), ranked AS (
    SELECT *, count(*) OVER () AS total FROM found ORDER BY score DESC, created_at DESC, source_id
    LIMIT %(limit)s OFFSET %(offset)s
)
SELECT kind, source_id, score, total,
    CASE WHEN length(text) <= 300 THEN text ELSE ts_headline('simple', text, terms,
        'MaxFragments=2, MaxWords=30, MinWords=10, StartSel="", StopSel="", FragmentDelimiter=" … "') END AS excerpt,
    ARRAY(SELECT word FROM unnest(lexemes) AS word WHERE numnode(terms) > 0 AND has @@ quote_literal(word)::tsquery)
FROM ranked, question ORDER BY score DESC, created_at DESC, source_id
"""


@dataclass(frozen=True)
class Match:
    """One thing that was found, by its best passage: why it matched, and how well."""

    kind: str
    source_id: str
    score: float
    excerpt: str
    matched: list[str]


@dataclass(frozen=True)
class Matches:
    """What was found: the best `items`, and how many match in all."""

    items: list[Match]
    total: int


def search_by_keyword(
    query: str,
    *,
    owner: User,
    kinds: Collection[Kind],
    project: str = "",
    among: Collection[str] | None = None,
    limit: int,
    offset: int = 0,
) -> Matches:
    """Find the owner's things of these kinds that contain any word of the query, the best first.

    `among` narrows it to the things with these ids: filters hold exactly, before the best are chosen.
    """
    parameters: dict[str, Any] = {
        "query": query,
        "owner": owner.pk,
        "kinds": [str(kind) for kind in kinds],
        "project": project,
        "among": None if among is None else list(among),
        "limit": limit,
        "offset": offset,
    }
    with connection.cursor() as cursor:
        cursor.execute(_QUESTION, parameters)
        rows = cursor.fetchall()
    matches = [
        Match(kind=kind, source_id=source_id, score=round(score, 4), excerpt=excerpt, matched=words)
        for kind, source_id, score, _, excerpt, words in rows
    ]
    return Matches(matches, total=rows[0][3] if rows else 0)

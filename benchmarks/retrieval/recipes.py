"""The recipes that are compared: what each finds for a question, as documents, the best first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import connection, transaction

from benchmarks.retrieval.beir import Question
from benchmarks.retrieval.bm25 import BM25
from benchmarks.retrieval.measures import RANKED
from benchmarks.retrieval.memory import Memory
from knowledge.models import Kind, Passage
from knowledge.search.candidates import Found, find_candidates
from knowledge.search.filters import Filters, scopes_of
from knowledge.search.findings import Findings
from knowledge.search.fusion import add_late, fuse, support_neighbours
from knowledge.search.hybrid import search, understand
from knowledge.search.question import SearchQuestion
from knowledge.search.question_periods import find_past
from knowledge.search.ranking import RERANKED, compare_tokens, read_known
from knowledge.search.retrievers import CANDIDATES, lexemes_of

SHIPPED = "as served"
FORMER = "`blend`, neighbours in every conversation"
KEYWORD, VECTOR = "keyword arm: coverage", "vectors alone"
Scores = Mapping[int, float]

_ALL_WORDS = """
SELECT passage.id, ts_rank(passage.lexemes, terms, 1)
FROM knowledge_passage AS passage, websearch_to_tsquery('english', %(query)s) AS terms
WHERE passage.lexemes @@ terms AND (passage.owner_id = %(owner)s OR passage.owner_id IS NULL)
"""
_ANY_WORD = """
SELECT passage.id, ts_rank(passage.lexemes, terms, 1)
FROM knowledge_passage AS passage, (
    SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery FROM unnest(%(lexemes)s::text[]) AS lexeme
) AS question(terms)
WHERE passage.lexemes @@ terms AND (passage.owner_id = %(owner)s OR passage.owner_id IS NULL)
"""


@dataclass
class Bench:
    """A memory, and what is computed once to ask it in many ways."""

    memory: Memory
    asked_at: datetime | None = None
    arms: dict[str, tuple[SearchQuestion, Found]] = field(default_factory=dict)

    @cached_property
    def bm25(self) -> BM25:
        """Its words."""
        return BM25(self.memory.user)

    @cached_property
    def documents(self) -> dict[int, str]:
        """Which document each passage is a piece of."""
        passages = Passage.objects.values_list("pk", "kind", "source_id")
        known = self.memory.documents
        return {pk: known[kind, source] for pk, kind, source in passages if (kind, source) in known}

    def found(self, query: str) -> tuple[SearchQuestion, Found]:
        """The question as the product reads it, and what its two arms say of all that either found."""
        if query not in self.arms:
            with transaction.atomic():
                asked = replace(understand(query, owner=self.memory.user), period=find_past(query))
                filters = Filters(Kind.values)
                scopes = scopes_of(self.memory.user, filters.kinds)
                asked, [found], _ = find_candidates(asked, filters, scopes)
                self.arms[query] = asked, found
        return self.arms[query]

    def both(self, query: str) -> tuple[dict[int, float], dict[int, float]]:
        """The scores of the two arms."""
        found = self.found(query)[1]
        return found.keyword, found.vector

    def ranked(self, scores: Scores) -> list[str]:
        """Documents by their best passage."""
        passages = sorted(scores, key=lambda passage: (-scores[passage], -passage))
        return list(dict.fromkeys(self.documents[one] for one in passages if one in self.documents))[:RANKED]

    def found_by(self, sql: str, query: str) -> dict[int, float]:
        """What a statement finds."""
        parameters: dict[str, Any] = {"query": query, "owner": self.memory.user.pk, "lexemes": lexemes_of(query)}
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return _best(dict(cursor.fetchall()))


def ask(memory: Memory, question: Question, *, limit: int) -> Findings:
    """What the search finds among everything."""
    everything = Filters(Kind.values)
    return search(question.text, owner=memory.user, filters=everything, limit=limit, asked_at=question.asked_at)


def served(bench: Bench, query: str) -> list[str]:
    """The whole search, as every transport calls it."""
    found = ask(bench.memory, Question("", query, {}, asked_at=bench.asked_at), limit=RANKED)
    places = [(item.kind, item.source_id) for item in found.items]
    return [bench.memory.documents[place] for place in places if place in bench.memory.documents]


def _fused(recipe: str) -> Callable[[Bench, str], list[str]]:
    def rank(bench: Bench, query: str) -> list[str]:
        fused = fuse(*bench.both(query), recipe=recipe)
        return bench.ranked({passage: found.score for passage, found in fused.items()})

    return rank


def _blended(bench: Bench, query: str) -> dict[int, float]:
    return {passage: fused.score for passage, fused in fuse(*bench.both(query), recipe="blend").items()}


def _with_neighbours(bench: Bench, query: str) -> list[str]:
    """The recipe of before: neighbours count whatever the shape of the conversation, and nothing else does."""
    question, found = bench.found(query)
    turns = read_known([found], [], question, bench.memory.user).turns
    return bench.ranked(support_neighbours(_blended(bench, query), {one: turn.place for one, turn in turns.items()}))


def _with_tokens(bench: Bench, query: str) -> list[str]:
    question, found = bench.found(query)
    alone = _blended(bench, query)
    best = sorted(alone, key=lambda passage: -alone[passage])[:RERANKED]
    tokens = read_known([found], best, question, bench.memory.user).tokens
    return bench.ranked(add_late(alone, compare_tokens(best, question, found, tokens)))


def _weighted_raw(bench: Bench, query: str) -> list[str]:
    """Seed 001: 0.7 of the cosine and 0.3 of `ts_rank`, as they come."""
    words, near = bench.found_by(_ANY_WORD, query), bench.both(query)[1]
    return bench.ranked({one: 0.3 * words.get(one, 0.0) + 0.7 * near.get(one, 0.0) for one in {**words, **near}})


def _stretched_both(bench: Bench, query: str) -> list[str]:
    """Half and half, both arms stretched to 0…1 by the best and the worst they found."""
    words, near = _stretched(bench.found_by(_ANY_WORD, query)), _stretched(bench.both(query)[1])
    return bench.ranked({one: words.get(one, 0.0) + near.get(one, 0.0) for one in {**words, **near}})


def _stretched(scores: Scores) -> dict[int, float]:
    smallest, largest = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {one: (score - smallest) / (largest - smallest or 1.0) for one, score in scores.items()}


def _best(scores: dict[int, float]) -> dict[int, float]:
    passages = sorted(scores, key=lambda passage: (-scores[passage], passage))[:CANDIDATES]
    return {passage: scores[passage] for passage in passages}


RECIPES: dict[str, Callable[[Bench, str], list[str]]] = {
    "`websearch_to_tsquery`, all words": lambda bench, query: bench.ranked(bench.found_by(_ALL_WORDS, query)),
    "`ts_rank`, any word": lambda bench, query: bench.ranked(bench.found_by(_ANY_WORD, query)),
    "BM25, any word": lambda bench, query: bench.ranked(bench.bm25.scores(lexemes_of(query))),
    KEYWORD: _fused("keyword"),
    VECTOR: _fused("vector"),
    "seed 001: 0.7 cosine + 0.3 `ts_rank`": _weighted_raw,
    "`ts_rank` and cosine, both stretched to 0…1": _stretched_both,
    "`rrf`": _fused("rrf"),
    "`blend`": _fused("blend"),
    FORMER: _with_neighbours,
    "`blend`, late interaction": _with_tokens,
    SHIPPED: served,
}

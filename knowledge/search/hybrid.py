"""Hybrid search: by keyword and by meaning, over what the user may see, fused into one ranking."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from time import perf_counter

from django.db import connections, transaction

from accounts.models import User
from bigmind.core.metrics import FOUND, SEARCH_SECONDS, SEARCHES
from bigmind.database.replicas import read_alias, read_cursor
from knowledge.search.candidates import Found, find_candidates
from knowledge.search.filters import Filters, Sql
from knowledge.search.findings import Findings, read_findings
from knowledge.search.indexes import Scope, scopes_of
from knowledge.search.question import SearchQuestion, understand
from knowledge.search.ranking import Ranked, rank
from knowledge.search.retrievers import MOST_COUNTED, alternatives, tune
from knowledge.search.synonyms import Synonyms

FOLLOWING = 3
"""How many are read beside those that a single search shows: where a decision takes company knowledge out of an answer,
they move up. Decision 57."""

_SEARCHED = """
SELECT count(*) FROM (SELECT 1 FROM knowledge_passage AS passage WHERE {condition} LIMIT {limit}) AS searched
"""
# A search takes milliseconds: starting parallel workers would take longer. And every search has other filters, which a
# generic plan would ignore.
_SHORT = {"max_parallel_workers_per_gather": "0", "plan_cache_mode": "force_custom_plan"}


@dataclass(frozen=True)
class _RankedThings:
    """What one filter leaves, the best first, with the question as it was corrected for it.

    `took` has the seconds of each retriever, `since` the moment at which both had answered.
    """

    question: SearchQuestion
    found: Found
    things: list[Ranked]
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
    question = understand(query, owner=owner, synonyms=synonyms, asked_at=asked_at)
    embedding = perf_counter() - started
    with _short_queries():
        scopes = scopes_of(owner, filters.kinds)
        return _answer(question, owner, filters, scopes, limit, offset, embedding=embedding, following=FOLLOWING)


def search_each(query: str, *, owner: User, filters: Iterable[Filters], limit: int) -> list[Findings]:
    """Return what fits a question best, for each of several filters: the question is embedded once for all of them."""
    started, filters = perf_counter(), list(filters)
    question = understand(query, owner=owner)
    embedding = perf_counter() - started
    with _short_queries():
        scopes = scopes_of(owner, {kind for one in filters for kind in one.kinds})
        return [_answer(question, owner, one, scopes, limit, embedding=embedding) for one in filters]


def cosines_each(query: str, *, owner: User, filters: Iterable[Filters], limit: int) -> list[dict[str, float | None]]:
    """Return the ids of what fits a text best, for each of several filters, with how near each is in meaning.

    It finds what `search_each` does, for comparing: no text is read that only a reader would need. A cosine is None
    where it is not known.
    """
    started, filters = perf_counter(), list(filters)
    question = understand(query, owner=owner)
    embedding = perf_counter() - started
    near = []
    with _short_queries():
        scopes = scopes_of(owner, {kind for one in filters for kind in one.kinds})
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
    question: SearchQuestion,
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
    # Counting costs a statement, and only the notice about missing vectors says the number.
    searched = _count_passages(filters.roughly(question.scopes)) if found.waiting else 0
    things = ranking.things[offset : offset + limit + following]
    read = read_findings(things, question, found)
    took = _count_metrics(ranking, things[:limit])
    return Findings(
        items=read[:limit],
        following=read[limit:],
        total=len(ranking.things),
        fallback=bool(question.reason),
        reason=question.reason,
        milliseconds={step: round(seconds * 1000, 2) for step, seconds in took.items()},
        candidates=found.brought,
        vector=question.vector,
        space=question.space,
        waiting=found.waiting,
        searched=searched,
        weights=found.words,
        missing=found.missing,
        text=question.text,
        counts=found.counts,
        terms={word: alternatives(word, question.synonyms) for word in found.words},
        tokens=question.tokens,
        period=question.period,
    )


def _rank_things(
    question: SearchQuestion, owner: User, filters: Filters, scopes: Sequence[Scope], *, embedding: float
) -> _RankedThings:
    started = perf_counter()
    # What `as_of` or an event says goes before the days that the words name.
    scopes = [scope for scope in scopes if filters.may_be_in(scope)]
    question = replace(question, period=filters.then or question.period)
    question, found = find_candidates(question, filters, scopes)
    answered = perf_counter()
    took = {
        "keyword": found.keyword_seconds,
        "vector": embedding + answered - started - found.keyword_seconds,
    }
    return _RankedThings(question, found, rank(found, question, owner), took, answered)


def _count_metrics(ranking: _RankedThings, shown: Iterable[Ranked]) -> dict[str, float]:
    """Count a search, and return the seconds that each of its steps took."""
    took = {**ranking.took, "fusion": perf_counter() - ranking.since}
    SEARCHES.labels("yes" if ranking.question.reason else "no").inc()
    for step, seconds in took.items():
        SEARCH_SECONDS.labels(step).observe(seconds)
    for one in shown:
        for retriever in one.fused.retrievers:
            FOUND.labels(retriever).inc()
    return took


def _count_passages(condition: Sql) -> int:
    with read_cursor() as cursor:
        cursor.execute(_SEARCHED.format(condition=condition.text, limit=MOST_COUNTED), condition.parameters)
        return int(cursor.fetchone()[0])

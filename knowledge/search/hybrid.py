"""Hybrid search: by keyword and by meaning, over what the user may see, fused into one ranking."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from time import perf_counter
from typing import Any

import structlog
from django.conf import settings
from django.db import connections, transaction
from pgvector import HalfVector

from accounts.models import User
from bigmind.core.metrics import FOUND, SEARCH_SECONDS, SEARCHES
from bigmind.database.replicas import read_alias, read_cursor
from knowledge.embeddings.calls import embed_question
from knowledge.embeddings.providers import EmbedderError, provider, spaces_of
from knowledge.search.candidates import Found, find_candidates
from knowledge.search.filters import Filters, Sql, scopes_of
from knowledge.search.findings import Findings, read_findings
from knowledge.search.indexes import INDEXES
from knowledge.search.question import SearchQuestion
from knowledge.search.question_periods import find_past
from knowledge.search.ranking import RERANKED, Ranked, Texts, rank
from knowledge.search.reranker import rerank
from knowledge.search.retrievers import MOST_COUNTED, read_words, tune, with_synonyms
from knowledge.search.synonyms import Synonyms

log = structlog.get_logger()

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
    """What one group of filters leaves, the best first; `seconds` has those of each step so far."""

    found: Found
    things: list[Ranked]
    seconds: Mapping[str, float]


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
    return _search(query, owner, filters, limit, offset, FOLLOWING, synonyms=synonyms, asked_at=asked_at)[0]


def search_groups(query: str, *, owner: User, filters: Filters, limit: int) -> list[Findings]:
    """Return what fits a question best, for each group of kinds.

    The question is embedded once, and each index is read once, for all of them.
    """
    return _search(query, owner, filters, limit)


def cosines(query: str, *, owner: User, filters: Filters, limit: int) -> dict[str, float | None]:
    """Return the ids of what fits a text best, with how near each is in meaning.

    It finds what `search` does, for comparing: no text is read that only a reader would need. A cosine is None where it
    is not known.
    """
    with _rank_question(query, owner, filters) as (question, rankings, _):
        _count_metrics(rankings, limit, is_fallback=bool(question.reason))
        [ranking] = rankings
        near = ranking.found.vector
        return {one.candidate.source_id: near.get(one.candidate.passage) for one in ranking.things[:limit]}


def understand(query: str, *, owner: User, synonyms: Synonyms | None = None) -> SearchQuestion:
    """Return a question with its words and its vector; `search` says what synonyms are."""
    query, spaces, reason = unicodedata.normalize("NFKC", query), list[str](), ""
    try:
        spaces = spaces_of(provider())
    except EmbedderError as error:
        reason = error.reason
    read = read_words(query, *spaces)
    words = SearchQuestion(
        read.lexemes,
        synonyms={**read.forms, **(synonyms or {})},
        text=query,
        owner=owner.pk,
    )
    try:
        if reason:
            raise EmbedderError(reason)
        if read.space is None:
            return replace(words, reason="The vectors of this model are still being made.")
        vectors, tokens = embed_question(query)
        vector = HalfVector(vectors[0][: read.space.dimensions].tolist())
        return replace(words, vector=vector, space=read.space, tokens=tokens[0] if tokens else None)
    except EmbedderError as error:
        log.warning("Search answers by keyword alone.", outage="embedder", reason=error.reason)
        return replace(words, reason=error.reason)


@contextmanager
def _short_queries() -> Iterator[dict[str, float]]:
    database = read_alias()
    begins_here = not connections[database].in_atomic_block
    with transaction.atomic(using=database, savepoint=False), tune(_SHORT, INDEXES, is_left=begins_here) as indexes:
        yield indexes


@contextmanager
def _rank_question(
    query: str,
    owner: User,
    filters: Filters,
    *,
    synonyms: Synonyms | None = None,
    asked_at: datetime | None = None,
) -> Iterator[tuple[SearchQuestion, list[_RankedThings], Texts]]:
    """Yield a question as it was corrected, what it finds in each group, and what the best passages say."""
    started = perf_counter()
    question = understand(query, owner=owner, synonyms=synonyms)
    embedding = perf_counter() - started
    with _short_queries() as indexes:
        scopes = scopes_of(owner, filters.kinds, indexes)
        started = perf_counter()
        # What `as_of` or an event says goes before the days that the words name, for which recall has looked.
        period = filters.then or (None if filters.groups else find_past(question.text, now=asked_at))
        question = replace(question, period=period)
        question, groups, keyword = find_candidates(question, filters, scopes)
        answered = perf_counter()
        ranked, texts = rank(groups, question, owner)
        seconds = {"keyword": keyword, "vector": embedding + answered - started - keyword}
        seconds["fusion"] = perf_counter() - answered
        yield question, [_RankedThings(*one, seconds) for one in zip(groups, ranked, strict=True)], texts


def _search(
    query: str, owner: User, filters: Filters, limit: int, offset: int = 0, following: int = 0, **asked: Any
) -> list[Findings]:
    if not settings.RERANK_URL:
        return _search_alone(query, owner, filters, limit, offset, following, **asked)
    end = offset + limit
    whole = _search_alone(query, owner, filters, max(RERANKED, end + following), **asked)
    return [
        replace(one, items=one.items[offset:end], following=one.items[end : end + following])
        for one in rerank(query, whole)
    ]


def _search_alone(
    query: str, owner: User, filters: Filters, limit: int, offset: int = 0, following: int = 0, **asked: Any
) -> list[Findings]:
    with _rank_question(query, owner, filters, **asked) as (question, rankings, texts):
        # Counting costs a statement, and only the notice about missing vectors says the number.
        waiting = rankings[0].found.waiting
        searched = _count_passages(filters.roughly(question.searched)) if waiting else 0
        terms = with_synonyms(question.lexemes, question.synonyms)
        milliseconds = {step: round(seconds * 1000, 2) for step, seconds in rankings[0].seconds.items()}
        answers = []
        for number, ranking in enumerate(rankings):
            found, things = ranking.found, ranking.things[offset : offset + limit + following]
            read = read_findings(things, question, found, texts) if things else []
            answers.append(
                Findings(
                    items=read[:limit],
                    following=read[limit:],
                    total=len(ranking.things),
                    fallback=bool(question.reason),
                    reason=question.reason,
                    milliseconds=milliseconds,
                    candidates=found.brought,
                    vector=question.vector,
                    space=question.space,
                    # What waits is counted over all of them: the first says it.
                    waiting=waiting if not number else 0,
                    searched=searched if not number else 0,
                    weights=found.words,
                    missing=found.missing,
                    text=question.text,
                    counts=found.counts,
                    terms={word: terms[word] for word in found.words},
                    tokens=question.tokens,
                    period=question.period,
                )
            )
        _count_metrics(rankings, offset + limit, is_fallback=bool(question.reason))
    return answers


def _count_metrics(rankings: Sequence[_RankedThings], limit: int, *, is_fallback: bool) -> None:
    SEARCHES.labels("yes" if is_fallback else "no").inc()
    for step, seconds in rankings[0].seconds.items():
        SEARCH_SECONDS.labels(step).observe(seconds)
    shown = [one for ranking in rankings for one in ranking.things[:limit]]
    for retriever, number in Counter(chain.from_iterable([one.fused.retrievers for one in shown])).items():
        FOUND.labels(retriever).inc(number)


def _count_passages(condition: Sql) -> int:
    with read_cursor() as cursor:
        cursor.execute(_SEARCHED.format(condition=condition.text, limit=MOST_COUNTED), condition.parameters)
        return int(cursor.fetchone()[0])

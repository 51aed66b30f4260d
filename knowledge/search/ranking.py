"""One ranking of what was found: fused scores, tokens compared, neighbours, periods, the newest of the same first."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Left, Length, Right
from django.utils import timezone

from accounts.models import User
from bigmind.database.fixed_queries import FixedQuery
from bigmind.database.replicas import read_cursor
from bigmind.text.periods import Period
from knowledge.models import Chunk, Fact, Kind, Passage
from knowledge.search.candidates import Found
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
from knowledge.search.late_interaction import similarities, weigh_tokens
from knowledge.search.question import WORD, SearchQuestion
from knowledge.search.retrievers import Candidate

RERANKED = 50
"""How many of the best are compared once more, word by word. With 100 the results differed by chance alone."""
NEWEST_OF = 20
"""Among how many of the best facts it is looked which are about the same thing."""
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


@dataclass(frozen=True)
class Ranked:
    """The best passage of one thing, with the parts of its score."""

    candidate: Candidate
    fused: Fused
    score: float
    support: float
    of_period: float
    late: float | None = None


def rank(found: Found, question: SearchQuestion, owner: User) -> list[Ranked]:
    """Fuse the scores of both retrievers, and return the best passage of each thing, the best first.

    Scores are compared at four digits, so that equals stay in one order whatever the processor rounds: newest first.
    """
    fused = fuse(found.keyword, found.vector)
    alone = {passage: one.score for passage, one in fused.items()}
    late = compare_tokens(sorted(alone, key=lambda passage: -alone[passage])[:RERANKED], question, found)
    moved = add_late(alone, late)
    turns = turns_of(found.candidates.values(), owner)
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
    things: dict[tuple[str, str], Ranked] = {}
    for passage in _put_newest_first(order, scores, found, question, of_another_time):
        candidate = found.candidates[passage]
        of_period = scores[passage] - told[passage]
        ranked = Ranked(candidate, fused[passage], scores[passage], support[passage], of_period, late.get(passage))
        things.setdefault((candidate.kind, candidate.source_id), ranked)
    return list(things.values())


def compare_tokens(best: Sequence[int], question: SearchQuestion, found: Found) -> dict[int, float]:
    """Return how well the tokens of these passages meet those of the question; nothing without token vectors."""
    if question.tokens is None or question.space is None or not best:
        return {}
    with read_cursor() as cursor:
        searched = question.searched
        cursor.execute(_SIGNS.format(scope=searched.text), [question.space.pk, list(best), *searched.parameters])
        signs = {passage: bytes(tokens) for passage, tokens in cursor.fetchall()}
    tokens = weigh_tokens(question.text, question.tokens, found.weights)
    return similarities(tokens, signs, bytes_each=question.tokens.signs.shape[1])


def _put_newest_first(
    order: Sequence[int],
    scores: Mapping[int, float],
    found: Found,
    question: SearchQuestion,
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
    words = {passage.pk: set(WORD.findall(passage.words.casefold())) for passage in told}
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
    # What replaced another fact began when it was stored. What replaced none may have held for long before: it is not
    # known to be of another time.
    replacing = Fact.objects.filter(superseded_by=OuterRef("pk"))
    begins_later = Q(valid_from__gte=end) | Q(Exists(replacing), valid_from=None, created_at__gte=end)
    ended = (
        Q(valid_until__lte=start)
        | Q(superseded_by__valid_from__lte=start)
        | Q(superseded_by__valid_from=None, superseded_by__created_at__lte=start)
    )
    return Fact.objects.of(owner_id).filter(begins_later | ended, pk__any_of=ids).values_list("pk")


_OF_ANOTHER_TIME = FixedQuery(_of_another_time)
_TOLD = FixedQuery(
    lambda owner, ids: Passage.objects.filter(owner=owner, pk__any_of=ids).only("text", "head", "created_at")
)


def turns_of(candidates: Iterable[Candidate], owner: User) -> dict[int, Turn]:
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
    question: SearchQuestion, period: Period, passages: Iterable[int], turns: Mapping[int, Turn]
) -> set[int]:
    """Return those passages that were said in a period; exchanges have their own time, others their passage's."""
    others = [passage for passage in passages if passage not in turns]
    scopes = reduce(or_, (Q(owner=scope.owner) for scope in question.scopes))
    within = Passage.objects.filter(scopes, pk__in=others, created_at__gte=period.start, created_at__lt=period.end)
    said = {passage for passage, turn in turns.items() if period.start <= turn.said_at < period.end}
    return said | set(within.exclude(kind=Kind.REFERENCE).values_list("pk", flat=True))

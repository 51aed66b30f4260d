"""One ranking of what was found: fused scores, tokens compared, neighbours, periods, the newest of the same first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone

from accounts.models import User
from bigmind.database.replicas import read_cursor
from knowledge.models import Kind
from knowledge.search.candidates import Found
from knowledge.search.fusion import (
    PERIOD,
    Fused,
    Turn,
    add_late,
    fuse,
    weigh_turns,
)
from knowledge.search.late_interaction import similarities, weigh_tokens
from knowledge.search.newest_first import NEWEST_OF, find_same, put_newest_first
from knowledge.search.question import SearchQuestion
from knowledge.search.retrievers import Candidate

RERANKED = 50
"""How many of the best are compared once more, word by word. With 100 the results differed by chance alone."""
SHORT_TURN = 400
"""Characters of an exchange whose neighbours say what it is about. A longer one says that itself."""
NAME_CHARS = 40
_SCORE = attrgetter("score")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Of the best their tokens and what a reader is shown; of exchanges what counts beside their words; and which facts are
# known not to have held in a period, or not to hold now. What replaced another fact began when it was stored. What
# replaced none may have held for long before: it is not known to be of another time.
_KNOWN = """
SELECT 'passage', passage.id, cached.tokens, substr(passage.text, passage.head + 1),
    (extract(epoch FROM passage.created_at) * 1000000)::bigint, passage.project, NULL, NULL, NULL, NULL
FROM knowledge_passage AS passage
LEFT JOIN knowledge_cachedvector AS cached
    ON cached.space_id = %(space)s AND cached.digest = passage.digest AND cached.tokens <> ''
WHERE passage.id = ANY(%(best)s) AND {scope}
UNION ALL
SELECT 'chunk', id, NULL, left(content, %(name)s), (extract(epoch FROM created_at) * 1000000)::bigint,
    right(content, %(name)s), session_id::text, seq, role, length(content)
FROM knowledge_chunk WHERE user_id = %(owner)s AND id = ANY(%(chunks)s)
UNION ALL
SELECT 'within', passage.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM knowledge_passage AS passage
WHERE passage.id = ANY(%(timed)s) AND passage.kind NOT IN ('chunk', 'reference')
    AND passage.created_at >= %(start)s AND passage.created_at < %(end)s AND {scope}
UNION ALL
SELECT 'fact', fact.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM knowledge_fact AS fact LEFT JOIN knowledge_fact AS newer ON newer.id = fact.superseded_by_id
WHERE fact.user_id = %(owner)s AND fact.id = ANY(%(facts)s) AND (
    fact.valid_from >= %(end)s OR fact.valid_until <= %(start)s
    OR coalesce(newer.valid_from, newer.created_at) <= %(start)s
    OR (fact.valid_from IS NULL AND fact.created_at >= %(end)s
        AND EXISTS (SELECT FROM knowledge_fact AS older WHERE older.superseded_by_id = fact.id))
)
"""


class PassageText(NamedTuple):
    """What a passage says, without its head, when it was said, in microseconds since 1970, and of which project."""

    text: str
    at: int
    project: str


Texts = Mapping[int, PassageText]


@dataclass(frozen=True)
class _KnownCandidates:
    """What is known of the candidates beside their scores.

    `tokens` has the signs of the best passages' tokens, `texts` what they say, `turns` the exchanges, by passage;
    `of_another_time` the passages of facts that did not hold when the question says, `within` what was said then.
    """

    tokens: Mapping[int, bytes]
    texts: Texts
    turns: Mapping[int, Turn]
    of_another_time: Collection[int]
    within: Collection[int]


@dataclass(frozen=True)
class Ranked:
    """The best passage of one thing, with the parts of its score; `same` has facts that are about the same."""

    candidate: Candidate
    fused: Fused
    score: float
    support: float
    of_period: float
    late: float | None = None
    same: frozenset[str] = frozenset()


def rank(groups: Sequence[Found], question: SearchQuestion, owner: User) -> tuple[list[list[Ranked]], Texts]:
    """Fuse the scores of both retrievers, and return of each group the best passage of each thing, the best first.

    Scores are compared at four digits, so that equals stay in one order whatever the processor rounds: newest first.
    Beside them it returns what the best passages say.
    """
    fused = [fuse(found.keyword, found.vector) if found.candidates else {} for found in groups]
    alone = [dict(zip(one, map(_SCORE, one.values()), strict=True)) for one in fused]
    best = [sorted(one, key=one.__getitem__, reverse=True)[:RERANKED] for one in alone]
    if not any(best):
        return [[] for _ in groups], {}
    known = read_known(groups, [*chain.from_iterable(best)], question, owner)
    ranked = [
        _rank(found, one, scores, first, known, question) if one else []
        for found, one, scores, first in zip(groups, fused, alone, best, strict=True)
    ]
    return ranked, known.texts


def _rank(
    found: Found,
    fused: Mapping[int, Fused],
    alone: Mapping[int, float],
    best: Sequence[int],
    known: _KnownCandidates,
    question: SearchQuestion,
) -> list[Ranked]:
    late = compare_tokens(best, question, found, known.tokens)
    moved = add_late(alone, late)
    weighed = moved
    if known.turns:
        turns = {passage: known.turns[passage] for passage in found.candidates if passage in known.turns}
        weighed = weigh_turns(moved, turns, question.text)
    scores = dict(weighed)
    if question.period:
        for passage in scores.keys() & known.within:
            scores[passage] += PERIOD
    for passage in found.candidates.keys() & known.of_another_time:
        scores[passage] -= PERIOD
    # Among equals the newest is first. Documentation has no age and keeps its source's order.
    equals = [
        (-round(score, 4), True, passage)
        if found.candidates[passage].kind == Kind.REFERENCE
        else (-round(score, 4), False, -passage)
        for passage, score in scores.items()
    ]
    order = [abs(passage) for *_, passage in sorted(equals)]
    things: dict[tuple[str, str], Ranked] = {}
    facts = [
        passage
        for passage in order[:RERANKED]
        if found.candidates[passage].kind == Kind.FACT
        and passage in known.texts
        and passage not in known.of_another_time
    ]
    ages, same = find_same(facts[:NEWEST_OF], scores, known.texts, question)
    alike: dict[int, set[str]] = {}
    for one, other in map(tuple, same if settings.RERANK_URL else ()):  # Nothing else looks at them again.
        ids = found.candidates[one].source_id, found.candidates[other].source_id
        alike.setdefault(one, set()).update(ids)
        alike.setdefault(other, set()).update(ids)
    for passage in put_newest_first(order, ages, same) if same else order:
        candidate = found.candidates[passage]
        thing = candidate.kind, candidate.source_id
        if thing not in things:
            of_period, support = scores[passage] - weighed[passage], weighed[passage] - moved.get(passage, 0.0)
            parts = scores[passage], support, of_period, late.get(passage), frozenset(alike.get(passage, ()))
            things[thing] = Ranked(candidate, fused[passage], *parts)
    return list(things.values())


def read_known(groups: Sequence[Found], best: list[int], question: SearchQuestion, owner: User) -> _KnownCandidates:
    """Read what counts beside the scores of candidates, in one statement; the tokens and texts of the best alone."""
    candidates = [one for found in groups for one in found.candidates.values()]
    chunks = {one.passage: int(one.source_id) for one in candidates if one.kind == Kind.CHUNK}
    facts = {one.passage: int(one.source_id) for one in candidates if one.kind == Kind.FACT}
    now, searched = timezone.now(), question.searched
    start, end = question.period or (now, now)
    begins, ends = [(moment - EPOCH) // timedelta(microseconds=1) for moment in (start, end)]
    timed = [one.passage for one in candidates] if question.period else []
    parameters = {f"scope_{number}": value for number, value in enumerate(searched.parameters)}
    statement = _KNOWN.format(scope=searched.text % tuple([f"%({name})s" for name in parameters]))
    rows: dict[str, dict[int, tuple[Any, ...]]] = {"passage": {}, "chunk": {}, "within": {}, "fact": {}}
    with read_cursor() as cursor:
        cursor.execute(
            statement,
            {
                "space": question.space.pk if question.space else None,
                "best": best,
                "name": NAME_CHARS,
                "owner": owner.pk,
                "chunks": [*chunks.values()],
                "facts": [*facts.values()],
                "start": start,
                "end": end,
                "timed": timed,
                **parameters,
            },
        )
        for what, id, *row in cursor.fetchall():
            rows[what][id] = tuple(row)
    turns = {
        id: Turn((session, seq), at, role, length > SHORT_TURN, end.rstrip().endswith("?"), _speaker(start))
        for id, (_, start, at, end, session, seq, role, length) in rows["chunk"].items()
    }
    return _KnownCandidates(
        {id: bytes(row[0]) for id, row in rows["passage"].items() if row[0]},
        {id: PassageText(*row[1:4]) for id, row in rows["passage"].items()},
        {passage: turns[chunk] for passage, chunk in chunks.items() if chunk in turns},
        {passage for passage, fact in facts.items() if fact in rows["fact"]},
        {passage for passage, chunk in chunks.items() if chunk in turns and begins <= turns[chunk].said_at < ends}
        | rows["within"].keys(),
    )


def compare_tokens(
    best: Sequence[int], question: SearchQuestion, found: Found, tokens: Mapping[int, bytes]
) -> dict[int, float]:
    """Return how well the tokens of these passages meet those of the question; nothing without token vectors."""
    if question.tokens is None:
        return {}
    signs = {passage: tokens[passage] for passage in best if passage in tokens}
    question_tokens = weigh_tokens(question.text, question.tokens, found.weights)
    return similarities(question_tokens, signs, bytes_each=question.tokens.signs.shape[1])


def _speaker(start: str) -> str:
    """Return the name before the words of a turn, as in “Ruth: I have moved.”; empty without one."""
    name, colon, _ = start.partition(":")
    return name.casefold() if colon and name.isalpha() else ""

"""Recent questions of agents, kept so that a decision can be tried on them before it is made.

A question belongs to its asker: only they can read the rows, and others see it by the rules of gaps. Beside its words,
a row has what a replay needs and the index no longer knows: the question's vector, and the scores of the other items it
found. Their texts and ids are not kept, nor anything of company knowledge, which is searched again.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import User
from bigmind.database.postgresql.kept_plans import Statement
from bigmind.privacy.screening import find_secrets
from bigmind.text.hygiene import digest, one_line
from knowledge.models import QUESTION_CHARS, AskedForm, AskedQuestion, EmbeddingSpace, Kind
from knowledge.search.abstention import JUDGED, may_answer
from knowledge.search.findings import Finding, Findings
from knowledge.search.fusion import LATE
from knowledge.search.late_interaction import words_of_tokens

_KEEP = """
INSERT INTO knowledge_askedquestion
    (user_id, how, project, text, digest, times, asked_at, space_id, vector, tokens, outline)
VALUES (%s, %s, %s, %s, %s, 1, %s, %s, %s, %s, %s)
ON CONFLICT (user_id, how, project, digest) DO UPDATE SET
    times = knowledge_askedquestion.times + 1, asked_at = excluded.asked_at, space_id = excluded.space_id,
    vector = excluded.vector, tokens = excluded.tokens, outline = excluded.outline
"""

USUAL_COST = 60
"""Approximate tokens of a line before a prompt: used for items after the answer, whose lines are not rendered."""

Thing = tuple[str, str]


@dataclass(frozen=True)
class QuestionRecord:
    """A question that an agent asked, with what the search found: what the ledgers of questions are written from.

    Attributes:
        how: The search it went through; None: no decision is tried on it.
        found: What was found; where the answer is joined from several searches, what that of company knowledge found.
        groups: What all searches found, where the answer is joined from several.
        may_be_gap: Whether a question that finds nothing shows that nothing is known: it was asked of everything.
        fitted: How many things the answer had tokens for, where that was less than there were.
        costs: What the line of each thing costs, where the answer has a budget of its own.
    """

    query: str
    how: AskedForm | None
    found: Findings
    groups: Sequence[Findings] = ()
    may_be_gap: bool = True
    project: str = ""
    limit: int = 0
    fitted: int | None = None
    costs: Mapping[Thing, int] = field(default_factory=dict)


def insert_question(user: User, record: QuestionRecord) -> Statement | None:
    """Return the statement that keeps a question, with what a replay needs; None with a secret or without a vector."""
    found = record.found
    if record.how is None or found.vector is None or found.space is None or not settings.KEEP_ASKED_DAYS:
        return None
    if find_secrets(record.query):
        return None
    text = one_line(record.query).strip()
    signs = found.tokens.signs if found.tokens else None
    return _insert(
        user,
        record.how,
        record.project,
        text[:QUESTION_CHARS],
        _identity_of(text, record.limit),
        {
            "limit": record.limit if record.fitted is None else record.fitted,
            **_outline(found, record.groups, record.costs),
        },
        space=found.space,
        # In half precision, as passages have theirs: both are compared in one product of matrices.
        vector=np.asarray(found.vector.to_list(), dtype=np.float16).tobytes(),
        tokens=signs.tobytes() if signs is not None else None,
    )


def insert_start(actor: Actor, *, project: str, topics: Sequence[str], room: int) -> Statement | None:
    """Return the statement that keeps a session's start: its project and topics, and the tokens that company knowledge
    had there; None where no agent starts it.
    """
    if not (actor.is_agent and settings.KEEP_ASKED_DAYS):
        return None
    named_topics = sorted(set(topics))
    outline = {"topics": named_topics, "room": room}
    return _insert(actor.user, AskedForm.START, project, "", " ".join(named_topics), outline)


def forget_prompts(prompts: Iterable[tuple[UUID, str]], *, limit: int) -> None:
    """Delete prompts that are being erased, each of one user."""
    for user_id, prompt in prompts:
        of_words = digest(_identity_of(one_line(prompt).strip(), limit))
        AskedQuestion.objects.filter(user=user_id, how=AskedForm.PROMPT, digest=of_words).delete()


def forget_asked(user: User, *, since: datetime, until: datetime | None) -> None:
    """Delete what someone asked in a period that is being withdrawn."""
    questions = AskedQuestion.objects.filter(user=user, asked_at__gte=since)
    (questions.filter(asked_at__lte=until) if until else questions).delete()


def _identity_of(text: str, limit: int) -> str:
    # With another limit the same words have another answer, and so another replay.
    return f"{text} {limit}"


def _insert(
    user: User,
    how: AskedForm,
    project: str,
    text: str,
    identity: str,
    outline: Mapping[str, Any],
    *,
    space: EmbeddingSpace | None = None,
    vector: bytes | None = None,
    tokens: bytes | None = None,
) -> Statement:
    row: tuple[Any, ...] = (
        user.pk,
        how,
        project,
        text,
        digest(identity),
        timezone.now(),
        space and space.pk,
        vector,
        tokens,
    )
    return _KEEP, [*row, json.dumps(outline, separators=(",", ":"))]


def _outline(found: Findings, groups: Sequence[Findings], costs: Mapping[Thing, int]) -> dict[str, Any]:
    beside = [one for one in groups if one is not found] or [found]
    others = [_rows_of(number, one, costs, is_whole=not groups) for number, one in enumerate(groups or [found])]
    return {
        "terms": [[word, *others] for word, others in found.terms.items()],  # jsonb would put keys in another order.
        "counts": [found.counts.get(word, 0.0) for word in found.terms],
        "weights": _weights_of(beside),
        "missing": sorted(frozenset.intersection(*(one.missing for one in beside))),
        "places": words_of_tokens(found.text, found.tokens) if found.tokens else [],
        "usual": _usual_of(found.items),
        "total": sum(one.total for one in beside),
        "period": found.period and [one.timestamp() for one in found.period],
        "others": [row for rows in others for row in rows],
    }


def _rows_of(group: int, found: Findings, costs: Mapping[Thing, int], *, is_whole: bool) -> list[list[Any]]:
    """Return the scores and matched words of what a search found besides company knowledge.

    Of several searches, the hits that may answer and the first few, by which a list is judged, are enough. Of a single
    one, later hits are kept too: they move up where company knowledge leaves the answer.
    """
    words = list(found.terms)
    return [
        [
            group,
            item.score,
            None if item.vector is None else round(item.vector, 4),
            round(item.keyword or 0.0, 4),
            sum(1 << place for place, word in enumerate(words) if word in item.matched),
            item.project,
            costs.get((item.kind, item.source_id), USUAL_COST),
            item.kind,
        ]
        for place, item in enumerate([*found.items, *found.following] if is_whole else found.items)
        if item.kind != Kind.COMPANY and (is_whole or place < JUDGED or may_answer(item))
    ]


def _weights_of(found: Sequence[Findings]) -> dict[str, float]:
    return {word: round(max(one.weights.get(word, 0.0) for one in found), 4) for word in found[0].weights}


def _usual_of(items: Iterable[Finding]) -> float | None:
    """Return the average by which late interaction was compared, read from the scores; None where it was not used."""
    seen = [
        item.late - (item.score - item.support - item.of_period - sum(item.parts.values())) / LATE
        for item in items
        # A score that was cut off at 1 no longer shows what it was made of.
        if item.late is not None and item.score < 1
    ]
    return round(fmean(seen), 4) if seen else None

"""Stores what a person of `people/` remembers, among facts of others, which stand for all that a task does not need."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import cycle

from django.utils import timezone

from accounts.actor import Actor
from accounts.people.profiles import update_profile
from accounts.people.users import add_user
from benchmarks.context.people import Line, Person
from benchmarks.retrieval.beir import OURS
from bigmind.text.hygiene import digest
from knowledge.context.sessions import index_session
from knowledge.memory.hypotheses import index_hypothesis
from knowledge.models import Fact, Hypothesis, Session
from knowledge.truth.fact_index import index_fact

WORK = ("decision", "codebase")


@dataclass(frozen=True)
class Memory:
    """Whose memory it is, and the words by which each key is recognised in a context."""

    actor: Actor
    words: dict[str, str]


def remember(person: Person, others: Sequence[Person], *, indexed: bool = False) -> Memory:
    """Store a person's memory among what no task needs: others' work, and the facts of the corpus of retrieval.

    Args:
        indexed: Whether it is to be found by searching, too.
    """
    actor = Actor.of(add_user(person.name))
    update_profile(actor, role=person.role, preferences=person.preferences, pinned_facts=list(person.pinned))
    ours = cycle(person.projects)
    noise = [line for other in others for line in other.facts if line.label in WORK]
    # Every second one stands in the projects of this person, where it is as long and as old as what is needed.
    noise = [replace(line, project=next(ours)) if at % 2 else line for at, line in enumerate(noise)]
    noise += [Line("", next(ours), 5 + 37 * at % 230, *row) for at, row in enumerate(_strange())]
    now = timezone.now()
    Fact.objects.bulk_create(
        Fact(
            user=actor.user,
            category=line.label,
            fact=line.text,
            digest=digest(line.text),
            project=line.project,
            created_at=now - timedelta(days=line.days),
        )
        for line in (*noise, *person.facts)
    )
    Session.objects.bulk_create(
        Session(
            user=actor.user,
            project=line.project,
            topics=list(line.topics),
            one_liner=line.text,
            outcome=line.outcome,
            started_at=now - timedelta(days=line.days, hours=1),
            ended_at=now - timedelta(days=line.days),
        )
        for of in (person, *others)
        for line in of.sessions
    )
    Hypothesis.objects.bulk_create(
        Hypothesis(
            user=actor.user,
            hypothesis=line.text,
            project=line.project,
            confidence=float(line.label),
            created_at=now - timedelta(days=line.days),
        )
        for of in (person, *others)
        for line in of.hypotheses
    )
    if indexed:
        for fact in Fact.objects.of(actor.user):
            index_fact(fact)
        for session in Session.objects.of(actor.user):
            index_session(session)
        for belief in Hypothesis.objects.filter(user=actor.user):
            index_hypothesis(belief)
    return Memory(actor, {line.key: line.text for line in person.lines})


def _strange() -> list[tuple[str, str]]:
    """Return the facts about work of the corpus of retrieval, which no task here needs."""
    rows = map(json.loads, (OURS / "corpus.jsonl").read_text(encoding="utf-8").splitlines())
    facts = [(row["metadata"]["category"], row["text"]) for row in rows if row["metadata"]["kind"] == "fact"]
    return [(category, text) for category, text in facts if category in WORK]

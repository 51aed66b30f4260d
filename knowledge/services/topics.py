"""Topics: what someone's sessions were about, counted."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Func, QuerySet, TextField, Window
from django.db.models.functions import RowNumber

from accounts.models import User
from bigmind.core.rls import rls_bypass
from knowledge.models import Session

MOST = 50
"""Topics of one person that are shown, and by which others find them: the ones that occur most."""


@dataclass(frozen=True)
class Topic:
    """One topic: how many sessions were about it, and of how many people."""

    name: str
    sessions: int
    people: int = 1


def topics_of(user: User, *, limit: int = MOST) -> list[Topic]:
    """Return what someone's sessions in view were about, the most frequent first."""
    return topics_of_each([user.pk], limit=limit).get(user.pk, [])


@rls_bypass()
def topics_of_each(users: Collection[UUID], *, limit: int) -> dict[UUID, list[Topic]]:
    """Return the same for many people, in one query."""
    counted = _topics(Session.objects.filter(user__in=users)).values("user", "topic").annotate(sessions=Count("pk"))
    rank = Window(RowNumber(), partition_by=F("user"), order_by=[F("sessions").desc(), F("topic").asc()])
    found: dict[UUID, list[Topic]] = {}
    for row in counted.annotate(rank=rank).filter(rank__lte=limit).order_by("user", "rank"):
        found.setdefault(row["user"], []).append(Topic(row["topic"], row["sessions"]))
    return found


@rls_bypass()
def topics_among(people: QuerySet[User], *, limit: int) -> list[Topic]:
    """Return what the sessions of these people were about: what most of them had to do with comes first."""
    counted = _topics(Session.objects.filter(user__in=people.order_by().values("pk"))).values("topic")
    ranked = counted.annotate(sessions=Count("pk"), people=Count("user", distinct=True))
    rows = ranked.order_by("-people", "-sessions", "topic")[:limit]
    return [Topic(row["topic"], row["sessions"], row["people"]) for row in rows]


def _topics(sessions: QuerySet[Session]) -> QuerySet[Any]:
    unnested = Func(F("topics"), function="unnest", output_field=TextField(), set_returning=True)
    return sessions.filter(set_aside_at=None).exclude(topics=[]).order_by().annotate(topic=unnested)

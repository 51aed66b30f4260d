"""How often triggers fired: counts about everyone, and one's own firings."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q

from accounts.actor import Actor
from accounts.services.usage import may_be_shown
from bigmind.database.rls import rls_bypass
from knowledge.models import Firing, TriggerLevel


@dataclass(frozen=True)
class FiringCount:
    """How often something fired at one level, as the reader may see it."""

    level: str
    count: int
    brought: int
    people: int
    last_at: datetime | None

    @property
    def level_in_words(self) -> str:
        return TriggerLevel(self.level).label


@dataclass(frozen=True)
class LevelCount:
    """How often something fired at one level, for everyone and for the reader. `last` is the last time."""

    level: str
    count: int
    brought: int
    people: int
    others: int
    last: datetime
    my_count: int
    my_brought: int
    my_last: datetime | None


def count_firings(actor: Actor, kind: str, source_id: object) -> list[FiringCount]:
    """Return how often the triggers of an entry or a fact fired, by level.

    Call this for a page about an entry. Where fewer than three others had a part, the actor's own are counted alone,
    whether there are others or not: it would say what one of them did.
    """
    return [
        FiringCount(one.level, one.count, one.brought, one.people, one.last)
        if may_be_shown(one.others)
        else FiringCount(one.level, one.my_count, one.my_brought, 1, one.my_last)
        for one in count_firings_by_level(actor, kind, source_id)
        if one.my_count or may_be_shown(one.others)
    ]


def count_firings_by_level(actor: Actor, kind: str, source_id: object) -> list[LevelCount]:
    """Return how often the triggers of something fired at each level.

    What is about everyone may be shown from three `others` on: the caller sees to that.
    """
    mine, brought = Q(user=actor.user), Q(brought=True)
    with rls_bypass():
        rows = Firing.objects.filter(kind=kind, source_id=str(source_id)).values("level")
        counted = rows.annotate(
            my_count=Count("pk", filter=mine),
            my_brought=Count("pk", filter=mine & brought),
            my_last=Max("at", filter=mine),
            count=Count("pk"),
            people=Count("user", distinct=True),
            others=Count("user", filter=~mine, distinct=True),
            last=Max("at"),
            brought=Count("pk", filter=brought),  # after it, the name is that of the number
        )
        return [LevelCount(**row) for row in counted.order_by("level")]


def list_own_firings(actor: Actor, *, kind: str = "", source_id: object = "", limit: int = 20) -> Sequence[Firing]:
    """Return what fired for the actor last, of one entry or fact if it is named, the newest first."""
    own = Firing.objects.filter(user=actor.user).order_by("-at", "pk")
    if kind:
        own = own.filter(kind=kind, source_id=str(source_id))
    return list(own[:limit])

"""How often triggers fired: counts about everyone, and one's own firings."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, QuerySet

from accounts.actor import Actor
from accounts.services.usage import may_be_shown
from bigmind.database.rls import rls_bypass
from knowledge.models import Firing, TriggerLevel


@dataclass(frozen=True)
class FiringCount:
    """How often something fired for one team at one level; `others` are people besides the reader."""

    team: str
    level: str
    count: int
    brought: int
    people: int
    others: int
    last_at: datetime | None

    @property
    def level_in_words(self) -> str:
        """What the level is called."""
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
    """Return how often the triggers of an entry or a fact fired, by team and level.

    Call this for a page about an entry. Where fewer than three others had a part, the actor's own are counted alone,
    whether there are others or not: it would say what one of them did.
    """
    everyone = Firing.objects.filter(kind=kind, source_id=str(source_id))
    own = _count_by_team(everyone.filter(user=actor.user), actor)
    with rls_bypass():
        of_all = {place: row for place, row in _count_by_team(everyone, actor).items() if may_be_shown(row.others)}
    return [row for _, row in sorted({**own, **of_all}.items())]


def _count_by_team(firings: "QuerySet[Firing]", actor: Actor) -> dict[tuple[str, str], FiringCount]:
    rows = firings.values("team", "level").annotate(
        count=Count("pk"),
        brought=Count("pk", filter=Q(brought=True)),
        people=Count("user", distinct=True),
        last_at=Max("at"),
        others=Count("user", filter=~Q(user=actor.user), distinct=True),
    )
    return {(row["team"], row["level"]): FiringCount(**row) for row in rows.order_by()}


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

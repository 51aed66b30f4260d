"""How often triggers fired, and how often they would have: counts about everyone, examples of whom they are of."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from accounts.services.usage import may_be_shown, may_be_shown_to_all
from bigmind.database.rls import rls_bypass
from bigmind.triggers import BEFORE, PROMPT, AgentAct, compile_trigger
from knowledge.models import Act, ActRecord, CapturePolicy, Firing, HookEvent, HookEventName, TriggerLevel

TRIED_ACTS = 10_000
"""The newest acts that a trigger is tried on: two seconds of work at most."""
TRIED_DAYS = 30
EXAMPLES = 10
EXAMPLE_CHARS = 200


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


@dataclass(frozen=True)
class TriedExample:
    """An act on which triggers would have fired."""

    at: datetime
    trigger: str
    text: str
    person: str


@dataclass
class TriggerTrial:
    """What triggers would have done to the acts on record: how many there are, on how many they fire, and some of them.

    Examples are the actor's own, and those of people who agreed to show them. Others are counted once three of them
    have a part; else `is_whole` is False, also where none has: that one of them did something would show by it.
    `is_for_all` is True where at least three others have a part in it, for every reader.
    """

    acts: Annotated[
        int,
        Field(description="Acts of the last 30 days they were tried on; others' once there are three people."),
    ] = 0
    fired: Annotated[
        int, Field(description="On how many they would have fired; others' once there are three people.")
    ] = 0
    people: int = 0
    is_whole: Annotated[
        bool, Field(description="False: those of others are not counted: fewer than three, or none.")
    ] = True
    is_for_all: bool = False
    by_trigger: Counter[str] = field(default_factory=Counter)
    examples: list[TriedExample] = field(default_factory=list)

    @property
    def in_words(self) -> str:
        """The result, as everyone may read it in the history of an entry."""
        if not self.is_for_all:
            why = "they would have fired for too few people to say more of it here"
            return f"Tried on what was done in the last {TRIED_DAYS} days: {why}."
        times = f"{self.fired:,} time{'' if self.fired == 1 else 's'}"
        return f"Tried on {self.acts:,} acts of the last {TRIED_DAYS} days, they would have fired {times}."


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
    own = Firing.objects.filter(user=actor.user).select_related("act").order_by("-at", "pk")
    if kind:
        own = own.filter(kind=kind, source_id=str(source_id))
    return list(own[:limit])


def try_triggers(actor: Actor, triggers: Sequence[str]) -> TriggerTrial:
    """Try triggers on what agents did in the last 30 days, before anyone is bothered by them.

    A curator sees their own matching acts, and those of people who agreed to that. All others are counted once three of
    them are concerned: else a pattern could probe what one of them did. Anyone else tries triggers only on their own
    acts.
    """
    compiled = [(text, *compile_trigger(text)) for text in triggers]
    trial, fired_for, acts_of = TriggerTrial(), defaultdict[object, Counter[str]](Counter), Counter[object]()
    with rls_bypass():
        shown = _who_shows(actor)
        for user, at, act, text in _read_record(actor):
            acts_of[user] += 1
            found = next((one[0] for one in compiled if act.fires(one[1], one[2], one[3])), "")
            if not found:
                continue
            fired_for[user][found] += 1
            if user in shown and len(trial.examples) < EXAMPLES:
                trial.examples.append(TriedExample(at, found, text[:EXAMPLE_CHARS], shown[user]))
    is_alone = "curate" not in actor.scopes
    trial.is_whole = is_alone or may_be_shown(len(fired_for.keys() - shown.keys()))
    counts_all = is_alone or may_be_shown(len(acts_of.keys() - shown.keys()))
    trial.acts = sum(number for user, number in acts_of.items() if counts_all or user in shown)
    counted = [found for user, found in fired_for.items() if trial.is_whole or user in shown]
    trial.by_trigger = sum(counted, Counter())
    trial.fired, trial.people = trial.by_trigger.total(), len(counted)
    trial.examples.sort(key=lambda one: one.at, reverse=True)
    trial.is_for_all = trial.is_whole and may_be_shown_to_all(trial.people)
    return trial


def _who_shows(actor: Actor) -> dict[object, str]:
    """Return the people whose acts the actor may see, by name."""
    agreed = CapturePolicy.objects.filter(acts=ActRecord.EXAMPLES).values("user")
    people = User.objects.filter(Q(pk=actor.user.pk) | Q(pk__in=agreed, is_active=True))
    return {person.pk: "you" if person.pk == actor.user.pk else str(person) for person in people}


def _read_record(actor: Actor) -> Iterable[tuple[object, datetime, AgentAct, str]]:
    """Yield the person, the time, the act as triggers match it, and how it is shown."""
    since = timezone.now() - timedelta(days=TRIED_DAYS)
    acts: QuerySet[Act] = Act.objects.filter(at__gte=since).order_by("-at")
    prompts = HookEvent.objects.filter(event=HookEventName.PROMPT, at__gte=since).exclude(prompt="").order_by("-at")
    if "curate" not in actor.scopes:
        acts, prompts = acts.filter(user=actor.user), prompts.filter(user=actor.user)
    else:
        off = CapturePolicy.objects.filter(acts=ActRecord.OFF).exclude(user=actor.user).values("user")
        acts, prompts = acts.exclude(user__in=off), prompts.exclude(user__in=off)
    for row in acts[:TRIED_ACTS].iterator(chunk_size=500):
        act = AgentAct(
            row.moment,
            tool=row.tool,
            command=row.command,
            changed=row.paths,
            text=row.error,
            given=row.command,
        )
        done = row.command or ", ".join(row.paths) or row.tool
        yield row.user_id, row.at, act, done if row.moment == BEFORE else row.error
    for event in prompts[:TRIED_ACTS].iterator(chunk_size=500):
        yield event.user_id, event.at, AgentAct(PROMPT, text=event.prompt), event.prompt

"""Usage: the log of calls added up, in the database, however many there are.

Anyone who looks at everybody's figures (`reader`) sees only what at least three other people had a part in: a day or an
operation of fewer is withheld, and not part of any sum, so that no difference tells what one colleague did.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db.models import Aggregate, Case, Count, FloatField, Max, Q, QuerySet, Sum, TextField, When
from django.db.models.functions import TruncDate
from django.utils import timezone

from accounts.models import Agent, ApiKey, Call, User
from bigmind.core.errors import TooMany

Part = TypeVar("Part")

AGENTS_SHOWN = 50
FAILURES_SHOWN = 30
HITS_SHOWN = 20
FAULT = "error"
COLLEAGUES = 3
"""So many people other than the reader have a part in every figure about everybody."""


class HalfAndMost(Aggregate):
    """The milliseconds within which half of the calls, and 95 of 100, were answered."""

    template = "percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = ArrayField(FloatField())


class LatestRequests(Aggregate):
    """The ids of the latest three requests."""

    template = "(array_agg(%(expressions)s ORDER BY at DESC, id DESC))[1:3]"
    output_field = ArrayField(TextField())


@dataclass(frozen=True)
class Use:
    """Calls of one operation or one agent. `tokens` is what agents read; what went to programs was not counted."""

    name: str
    calls: int
    refused: int
    half_within: float
    most_within: float
    tokens: int


@dataclass(frozen=True)
class AgentUse(Use):
    """Calls of one agent; `owner` is whose it is, `last_call` when it called last."""

    owner: str
    last_call: datetime


@dataclass(frozen=True)
class DayOfCalls:
    """The calls of one day: all, those that were refused or failed, searches, and the tokens that agents read.

    All are 0 on a day that is withheld from the reader.
    """

    day: date
    calls: int = 0
    refused: int = 0
    searches: int = 0
    tokens: int = 0
    is_withheld: bool = False


@dataclass(frozen=True)
class FailedCalls:
    """Calls of one operation that ended alike, and not well; the log says more under the latest request ids."""

    operation: str
    outcome: str
    calls: int
    last: datetime
    request_ids: list[str]


@dataclass(frozen=True)
class LimitHits:
    """Calls of one key that came too often. `per_minute` is the key's own limit, where it has one."""

    user_id: UUID
    username: str
    key: str
    per_minute: int | None
    refused: int
    last: datetime


def calls_since(since: datetime, *, user: User | None = None) -> "QuerySet[Call]":
    """Return the calls from a moment on: of one person, or of everyone."""
    calls = Call.objects.filter(at__gte=since)
    return calls if user is None else calls.filter(user=user)


def use_by_operation(calls: "QuerySet[Call]", *, among: Collection[str] | None = None) -> list[Use]:
    """Add up calls by what was called, the most called first: of all operations, or of those in `among`."""
    rows = _aggregate(calls.values("operation"), "-calls", "operation")
    return [Use(row["operation"], *_figures(row)) for row in rows if among is None or row["operation"] in among]


def use_by_agent(calls: "QuerySet[Call]") -> list[AgentUse]:
    """Add up calls by the agent that made them, the busiest first; those without an agent by the person."""
    named = calls.values("agent", "agent__client_name", "agent__client_version", "agent__host", "user__username")
    rows = _aggregate(named.annotate(last_call=Max("at")), "-calls", "agent")[:AGENTS_SHOWN]
    return [
        AgentUse(_agent_name(row), *_figures(row), owner=row["user__username"], last_call=row["last_call"])
        for row in rows
    ]


@dataclass(frozen=True)
class Outcomes:
    """How calls ended (`ok`, or the code of the refusal), the most frequent first, and what was called."""

    ended: list[tuple[str, int]]
    operations: frozenset[str]


def outcomes(calls: "QuerySet[Call]", *, reader: User | None = None) -> Outcomes:
    """Count how calls ended, and say which operations were called: what is withheld from a reader is left out."""
    rows = list(calls.order_by().values_list("operation", "outcome", "user").annotate(calls=Count("pk")))
    # Operations first: an outcome is counted only among those that are shown, so that no difference tells the others.
    operations = parts_for(((row[0], row[2]) for row in rows), reader)
    ends = parts_for(((row[1], row[2]) for row in rows if row[0] in operations), reader)
    counted: Counter[str] = Counter()
    for operation, outcome, _, number in rows:
        if operation in operations and outcome in ends:
            counted[outcome] += number
    ordered = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    return Outcomes(ordered, frozenset(operations))


def parts_for(parts: Iterable[tuple[Part, UUID]], reader: User | None) -> set[Part]:
    """Return the parts that a reader may see: those that enough other people have a hand in; without one all."""
    pairs = set(parts)
    if reader is None:
        return {part for part, _ in pairs}
    people = Counter(part for part, user in pairs if user != reader.pk)
    return {part for part, others in people.items() if others >= COLLEAGUES}


def may_be_shown(others: int) -> bool:
    """Whether a reader may see a figure that so many people other than the reader have a part in."""
    return settings.BIGMIND_MODE == "personal" or others >= COLLEAGUES


def may_be_shown_to_all(people: int) -> bool:
    """Whether everyone may read a figure about so many people: at least three of them are not the reader."""
    return may_be_shown(people - 1)


def failures(calls: "QuerySet[Call]") -> list[FailedCalls]:
    """Group the calls that were refused or failed by operation and outcome: our own faults first, then by number.

    Those that came too often are left out: `limit_hits` has them.
    """
    grouped = calls.exclude(outcome__in=["ok", TooMany.code]).values("operation", "outcome")
    counted = grouped.annotate(calls=Count("pk"), last=Max("at"), request_ids=LatestRequests("request_id"))
    rows: Any = counted.order_by(Case(When(outcome=FAULT, then=0), default=1), "-calls", "operation")[:FAILURES_SHOWN]
    return [FailedCalls(**{**row, "request_ids": [id for id in row["request_ids"] if id]}) for row in rows]


def limit_hits(calls: "QuerySet[Call]") -> list[LimitHits]:
    """Count the calls that came too often, by key, or by person where none was used."""
    hit = calls.filter(outcome=TooMany.code)
    grouped = hit.values("user_id", "user__username", "key_id", "key__label", "key__prefix", "key__per_minute")
    rows = grouped.annotate(refused=Count("pk"), last=Max("at")).order_by("-refused")[:HITS_SHOWN]
    return [
        LimitHits(
            user_id=row["user_id"],
            username=row["user__username"],
            key=str(ApiKey(label=row["key__label"], prefix=row["key__prefix"])) if row["key_id"] else "",
            per_minute=row["key__per_minute"],
            refused=row["refused"],
            last=row["last"],
        )
        for row in rows
    ]


def calls_by_day(
    calls: "QuerySet[Call]", *, days: int, searching: Collection[str], reader: User | None = None
) -> list[DayOfCalls]:
    """Add up the calls of each of the last days, today last; `searching` names the operations that are searches.

    A day without calls is 0. To a reader it is withheld, as is one of few people: the two look the same.
    """
    figures = {
        "calls": Count("pk"),
        "refused": _count_refusals(),
        "searches": Count("pk", filter=Q(operation__in=searching, outcome="ok")),
        "read": Sum("tokens", default=0),
    }
    of_each = calls.annotate(day=TruncDate("at")).order_by().values_list("day", "user").annotate(**figures)
    rows: list[tuple[date, UUID, int, int, int, int]] = list(of_each)
    shown = parts_for(((row[0], row[1]) for row in rows), reader)
    sums: dict[date, list[int]] = {}
    for day, _, *numbers in rows:
        sums[day] = [before + number for before, number in zip(sums.get(day, [0] * 4), numbers, strict=True)]
    return [
        DayOfCalls(day, *sums.get(day, ())) if reader is None or day in shown else DayOfCalls(day, is_withheld=True)
        for day in last_days(days)
    ]


def last_days(days: int) -> list[date]:
    """Return the last days in their order, the last of which is today."""
    today = timezone.localdate()
    return [today - timedelta(days=back) for back in reversed(range(days))]


def _aggregate(calls: "QuerySet[Call, Any]", *order: str) -> "QuerySet[Call, Any]":
    figures: dict[str, Any] = {
        "calls": Count("pk"),
        "refused": _count_refusals(),
        "took": HalfAndMost("milliseconds"),
        "read": Sum("tokens", default=0),
    }
    return calls.annotate(**figures).order_by(*order)


def _count_refusals() -> Count:
    return Count("pk", filter=~Q(outcome="ok"))


def _figures(row: dict[str, Any]) -> tuple[int, int, float, float, int]:
    half, most = row["took"]
    return row["calls"], row["refused"], half, most, row["read"]


def _agent_name(row: dict[str, Any]) -> str:
    """What the agent of a row is called, as it calls itself anywhere else."""
    if row["agent"] is None:
        return "(no agent named)"
    names = {name: row[f"agent__{name}"] for name in ("client_name", "client_version", "host")}
    return str(Agent(**names))

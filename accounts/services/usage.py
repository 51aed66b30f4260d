"""Usage: the log of calls added up, in the database, however many there are."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import Aggregate, Case, Count, FloatField, Max, Q, QuerySet, Sum, TextField, When
from django.db.models.functions import TruncDate
from django.utils import timezone

from accounts.models import Agent, ApiKey, Call, User
from bigmind.core.errors import TooMany

AGENTS_SHOWN = 50
FAILURES_SHOWN = 30
HITS_SHOWN = 20
FAULT = "error"


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
    """The calls of one day; `share` is their part, in percent, of the busiest day's."""

    day: date
    calls: int
    refused: int
    share: int


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


def use_by_operation(calls: "QuerySet[Call]") -> list[Use]:
    """Add up calls by what was called, the most called first."""
    rows = _aggregate(calls.values("operation"), "-calls", "operation")
    return [Use(row["operation"], *_figures(row)) for row in rows]


def use_by_agent(calls: "QuerySet[Call]") -> list[AgentUse]:
    """Add up calls by the agent that made them, the busiest first; those without an agent by the person."""
    named = calls.values("agent", "agent__client_name", "agent__client_version", "agent__host", "user__username")
    rows = _aggregate(named.annotate(last_call=Max("at")), "-calls", "agent")[:AGENTS_SHOWN]
    return [
        AgentUse(_agent_name(row), *_figures(row), owner=row["user__username"], last_call=row["last_call"])
        for row in rows
    ]


def outcomes(calls: "QuerySet[Call]") -> list[tuple[str, int]]:
    """Count how calls ended: `ok`, or the code of the refusal."""
    return list(calls.values_list("outcome").annotate(calls=Count("pk")).order_by("-calls", "outcome"))


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


def calls_by_day(calls: "QuerySet[Call]", *, days: int) -> list[DayOfCalls]:
    """Count the calls of each of the last days, today last; a day without calls is 0."""
    counted = calls.annotate(day=TruncDate("at")).values("day").annotate(calls=Count("pk"), refused=_count_refusals())
    rows = {row["day"]: row for row in counted}
    most = max((row["calls"] for row in rows.values()), default=0)
    today = timezone.localdate()
    every = [today - timedelta(days=back) for back in reversed(range(days))]
    return [
        DayOfCalls(
            day,
            row["calls"] if row else 0,
            row["refused"] if row else 0,
            round(100 * row["calls"] / most) if row else 0,
        )
        for day in every
        for row in [rows.get(day)]
    ]


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

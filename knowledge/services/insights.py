"""Insights: how BigMind is used, what it delivered, what that was worth, and what came of what sessions were told."""

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal

from django.db.models import Count, Q, Sum
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from accounts.services.usage import (
    AgentUse,
    DayOfCalls,
    Use,
    calls_by_day,
    calls_since,
    outcomes,
    use_by_agent,
    use_by_operation,
)
from bigmind.core.rls import rls_bypass
from knowledge.models import CompanyEntry, Kind, Proof, Receipt, Serving
from knowledge.services.exposures import comes_behind

ITEMS_SHOWN = 20
LONGEST_DAYS = 90

Days = Annotated[int, Field(ge=1, le=LONGEST_DAYS, description="How many days back: calls are kept for 90.")]
Whose = Literal["mine", "everybody"]


@dataclass(frozen=True)
class Starts:
    """Sessions that began, what their start contexts told, and what that saved.

    `saved` is an estimate, and a low one: one look-up for each start context that told at least one company entry, fact
    or session. Without it the agent would have had to ask at least once, or the user would have had to say it again. A
    context that told nothing of the kind saves nothing, and one that told twenty things saves one. `proven` counts the
    sessions that said at their end that something they were told had helped.
    """

    begun: int
    saved: int
    tokens: int
    proven: int


@dataclass(frozen=True)
class ItemUse:
    """What came of one company entry: how many sessions were told it, cited it, were misled by it."""

    entry: CompanyEntry
    served: int
    cited: int
    misled: int
    last_cited_at: datetime | None
    is_behind: bool


@dataclass(frozen=True)
class Insights:
    """What is known of the use of BigMind in some days, by one person or by everybody."""

    days: int
    whose: Whose
    daily: list[DayOfCalls]
    tools: list[Use]
    agents: list[AgentUse]
    outcomes: list[tuple[str, int]]
    starts: Starts
    items: list[ItemUse]

    @property
    def calls(self) -> int:
        """How many calls there were."""
        return sum(tool.calls for tool in self.tools)

    @property
    def refused(self) -> int:
        """How many of them were refused, or failed."""
        return sum(tool.refused for tool in self.tools)

    @property
    def tokens(self) -> int:
        """What agents were given to read."""
        return sum(tool.tokens for tool in self.tools)


def look_at_use(actor: Actor, *, days: Days = 30, whose: Whose = "mine") -> Insights:
    """Return how BigMind was used: by the actor, or by everybody added up, without names.

    Agents are always those of the actor; only admins see everybody's.
    """
    since = _beginning(days)
    of = actor.user if whose == "mine" else None
    calls = calls_since(since, user=of)
    of_agents = None if whose == "everybody" and actor.user.is_admin else actor.user
    with rls_bypass() if of is None else nullcontext():
        starts, items = _starts(since, of), _items(actor, since, of)
    return Insights(
        days=days,
        whose=whose,
        daily=calls_by_day(calls, days=days),
        tools=use_by_operation(calls),
        agents=use_by_agent(calls_since(since, user=of_agents)),
        outcomes=outcomes(calls),
        starts=starts,
        items=items,
    )


def _beginning(days: int) -> datetime:
    """The midnight with which the first of these days began; today is the last."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=days - 1)


def _starts(since: datetime, user: User | None) -> Starts:
    receipts = Receipt.objects.filter(session__started_at__gte=since)
    servings = Serving.objects.filter(at__gte=since, cited=True)
    if user is not None:
        receipts, servings = receipts.filter(session__user=user), servings.filter(user=user)
    added = receipts.aggregate(
        begun=Count("pk"), saved=Count("pk", filter=Q(told__gt=0)), tokens=Sum("tokens", default=0)
    )
    return Starts(**added, proven=servings.aggregate(sessions=Count("session", distinct=True))["sessions"])


def _items(actor: Actor, since: datetime, user: User | None) -> list[ItemUse]:
    """What misled most first, then what was served most."""
    servings = Serving.objects.filter(kind=Kind.COMPANY, at__gte=since)
    if user is not None:
        servings = servings.filter(user=user)
    rows = list(
        servings.values("source_id")
        .annotate(
            served=Count("pk"),
            times_cited=Count("pk", filter=Q(cited=True)),
            times_misled=Count("pk", filter=Q(misled=True)),
        )
        .order_by("-times_misled", "-served", "source_id")[:ITEMS_SHOWN]
    )
    ids = [int(row["source_id"]) for row in rows]
    entries = CompanyEntry.objects.readable_by(actor.user, curator="curate" in actor.scopes).in_bulk(ids)
    proofs = Proof.objects.in_bulk(ids)
    return [
        ItemUse(
            entry=entries[pk],
            served=row["served"],
            cited=row["times_cited"],
            misled=row["times_misled"],
            last_cited_at=proofs[pk].last_cited_at if pk in proofs else None,
            is_behind=pk in proofs and comes_behind(proofs[pk]),
        )
        for pk, row in zip(ids, rows, strict=True)
        if pk in entries
    ]

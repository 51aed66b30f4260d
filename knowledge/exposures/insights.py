"""Insights: how BigMind is used, what it delivered, what that was worth, and what it led to.

Figures about everyone have no names, and only what at least three people other than the reader took part in: see
`accounts.services.usage`.
"""

from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal

from django.conf import settings
from django.db.models import Case, Count, DateField, Q, QuerySet, Sum, Value, When
from django.db.models.functions import TruncDate
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from accounts.services.usage import (
    COLLEAGUES,
    AgentUse,
    DayOfCalls,
    Use,
    calls_by_day,
    calls_since,
    last_days,
    outcomes,
    parts_for,
    use_by_agent,
    use_by_operation,
)
from bigmind.database.rls import rls_bypass
from knowledge.exposures.exposures import count_verdicts, read_last_citations, visible_count
from knowledge.exposures.uncited_entries import comes_behind
from knowledge.kinds import KIND_OF_WORD, KINDS, LISTED
from knowledge.models import CompanyEntry, Kind, Proof, Receipt, Serving, UnansweredQuestion

ITEMS_SHOWN = 20
LONGEST_DAYS = 90
SEARCHES = ("memory_recall", "memory_semantic_search", "memory_search_global", "kb_search")
"""The operations that agents ask, and whose unanswered questions are kept."""
OWN = [KIND_OF_WORD[word] for word in LISTED]
SHARED = [Kind(kind) for kind, row in KINDS.items() if row.is_shared and row.list_route]
SHARED.sort(key=lambda kind: kind != Kind.COMPANY)  # What was decided comes first.
"""The kinds whose growth is counted, and the moment from which one counts."""

Days = Annotated[int, Field(ge=1, le=LONGEST_DAYS, description="How many days back: calls are kept for 90.")]
Whose = Literal["mine", "everybody"]


@dataclass(frozen=True)
class DayOfStarts:
    """Sessions that began on one day, the look-ups that their start contexts saved, and the tokens of these."""

    day: date
    begun: int = 0
    saved: int = 0
    tokens: int = 0
    is_withheld: bool = False


@dataclass(frozen=True)
class Starts:
    """Sessions that began, what their start contexts delivered, and what that saved.

    `saved` is an estimate, and a low one: one look-up for each start context that told at least one company entry, fact
    or session. Without it the agent would have had to ask at least once, or the user would have had to say it again. A
    context that told nothing of the kind saves nothing, and one that told twenty things saves one. `proven` counts the
    sessions that said at their end that something they received had helped.
    """

    daily: list[DayOfStarts]
    proven: int

    @property
    def begun(self) -> int:
        """How many sessions began."""
        return sum(day.begun for day in self.daily)

    @property
    def saved(self) -> int:
        """How many look-ups were saved."""
        return sum(day.saved for day in self.daily)

    @property
    def tokens(self) -> int:
        """The tokens of their start contexts."""
        return sum(day.tokens for day in self.daily)


@dataclass(frozen=True)
class ItemUse:
    """What came of one company entry: how many sessions received it, cited it, were misled by it.

    Of what others say of it only what at least three of them say counts.
    """

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

    @property
    def calls(self) -> int:
        return sum(day.calls for day in self.daily)

    @property
    def refused(self) -> int:
        """How many of them were refused, or failed."""
        return sum(day.refused for day in self.daily)

    @property
    def tokens(self) -> int:
        """The tokens that agents got to read."""
        return sum(day.tokens for day in self.daily)

    @property
    def tokens_saved(self) -> int:
        """What the look-ups that were saved would have cost at least, each as much as a search did on average."""
        searches = [tool for tool in self.tools if tool.name in SEARCHES]
        searched = sum(tool.calls - tool.refused for tool in searches)
        return round(self.starts.saved * sum(tool.tokens for tool in searches) / searched) if searched else 0

    @property
    def withheld(self) -> int:
        """How many of the days are withheld, because too few people other than the reader made calls on them."""
        return sum(day.is_withheld for day in self.daily)


@dataclass(frozen=True)
class DayOfGrowth:
    """How much of each kind there was at the end of one day, by the word for the kind."""

    day: date
    numbers: dict[str, int]


@dataclass(frozen=True)
class KnowledgeInsights:
    """How knowledge grew in some days, what of it helped, and how many questions nothing was known about.

    A day of `unanswered` is None where it is withheld. The growth of one's own memory is counted for oneself; for
    everybody it is that of what everybody may read.
    """

    days: int
    whose: Whose
    growth: list[DayOfGrowth]
    unanswered: list[tuple[date, int | None]]
    items: list[ItemUse]


def look_at_use(actor: Actor, *, days: Days = 30, whose: Whose = "mine") -> Insights:
    """Return how BigMind was used: by the actor, or by everybody added up, without names.

    Of everybody's figures those are left out that fewer than three others have a part in. Agents are always those of
    the actor; only admins see everybody's.
    """
    since, reader = _beginning(days), _reader(actor, whose)
    of = None if reader else actor.user
    calls = calls_since(since, user=of)
    daily = calls_by_day(calls, days=days, searching=SEARCHES, reader=reader)
    # The other figures leave these days out, too: the difference would tell what is withheld.
    if any(day.is_withheld for day in daily):
        calls = calls.filter(at__date__in=[day.day for day in daily if not day.is_withheld])
    ended = outcomes(calls, reader=reader)
    of_agents = None if whose == "everybody" and actor.user.is_admin else actor.user
    with rls_bypass() if of is None else nullcontext():
        starts = _starts(days, since, of, reader)
    return Insights(
        days=days,
        whose="everybody" if reader else "mine",
        daily=daily,
        tools=use_by_operation(calls, among=ended.operations),
        agents=use_by_agent(calls_since(since, user=of_agents)),
        outcomes=ended.ended,
        starts=starts,
    )


def look_at_knowledge(actor: Actor, *, days: Days = 30, whose: Whose = "mine") -> KnowledgeInsights:
    """Return how knowledge grew, what came of company knowledge, and how many questions found nothing.

    Of everybody's figures those are left out that fewer than three others have a part in.
    """
    since, reader = _beginning(days), _reader(actor, whose)
    of = None if reader else actor.user
    with rls_bypass() if of is None else nullcontext():
        items, unanswered = _items(actor, since, of, reader), _new_questions(days, since, of, reader)
    return KnowledgeInsights(
        days=days,
        whose="everybody" if reader else "mine",
        growth=_growth(actor.user, days, SHARED if reader else OWN),
        unanswered=unanswered,
        items=items,
    )


def _reader(actor: Actor, whose: Whose) -> User | None:
    """Who looks at everyone's figures; None: they look at their own. In personal mode both are the same."""
    return actor.user if whose == "everybody" and settings.BIGMIND_MODE != "personal" else None


def _beginning(days: int) -> datetime:
    """The midnight with which the first of these days began; today is the last."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=days - 1)


def _starts(days: int, since: datetime, of: User | None, reader: User | None) -> Starts:
    receipts = Receipt.objects.filter(session__started_at__gte=since)
    servings = Serving.objects.filter(at__gte=since, cited=True)
    if of is not None:
        receipts, servings = receipts.filter(session__user=of), servings.filter(user=of)
    rows = list(
        receipts.order_by()
        .annotate(day=TruncDate("session__started_at"))
        .values_list("day", "session__user")
        .annotate(begun=Count("pk"), saved=Count("pk", filter=Q(told__gt=0)), cost=Sum("tokens", default=0))
    )
    shown = parts_for(((day, user) for day, user, *_ in rows), reader)
    sums: dict[date, list[int]] = {}
    for day, _, *numbers in rows:
        sums[day] = [before + number for before, number in zip(sums.get(day, [0] * 3), numbers, strict=True)]
    daily = [
        DayOfStarts(day, *sums.get(day, ())) if reader is None or day in shown else DayOfStarts(day, is_withheld=True)
        for day in last_days(days)
    ]
    citing = list(servings.order_by().values_list("user").annotate(sessions=Count("session", distinct=True)))
    proven = sum(sessions for _, sessions in citing) if parts_for((("", user) for user, _ in citing), reader) else 0
    return Starts(daily, proven)


def _new_questions(days: int, since: datetime, of: User | None, reader: User | None) -> list[tuple[date, int | None]]:
    """How many questions found nothing for the first time on each day."""
    new = UnansweredQuestion.objects.filter(first_asked__gte=since)
    if of is not None:
        new = new.filter(user=of)
    of_each = new.order_by().annotate(day=TruncDate("first_asked")).values_list("day", "user")
    rows = list(of_each.annotate(questions=Count("pk")))
    shown = parts_for(((day, user) for day, user, _ in rows), reader)
    sums: Counter[date] = Counter()
    for day, _, questions in rows:
        sums[day] += questions
    return [(day, sums[day] if reader is None or day in shown else None) for day in last_days(days)]


def growth_of_memory(user: User, *, days: int = 30) -> list[DayOfGrowth]:
    """Return how much there was of each kind of someone's own memory at the end of each of the last days."""
    return _growth(user, days, OWN)


def _growth(user: User, days: int, kinds: list[Kind]) -> list[DayOfGrowth]:
    """How much there was of each kind, day by day, of what the user may find now: one query for all kinds."""
    since = _beginning(days)
    counted = [_by_day(user, kind, since) for kind in kinds]
    added: dict[str, Counter[date | None]] = {KINDS[kind].label: Counter() for kind in kinds}
    for label, day, number in counted[0].union(*counted[1:], all=True):
        added[label][day] += number
    numbers = {label: of_days[None] for label, of_days in added.items()}
    growth = []
    for day in last_days(days):
        numbers = {label: number + added[label][day] for label, number in numbers.items()}
        growth.append(DayOfGrowth(day, numbers))
    return growth


def _by_day(user: User, kind: Kind, since: datetime) -> "QuerySet[Any, tuple[str, date | None, int]]":
    """How much of one kind was added on each day; what is older has no day."""
    moment = KINDS[kind].began
    day = Case(When(**{f"{moment}__gte": since}, then=TruncDate(moment)), default=None, output_field=DateField())
    rows: QuerySet[Any] = KINDS[kind].visible(user).order_by().annotate(counted=Value(KINDS[kind].label), day=day)
    counted: QuerySet[Any, tuple[str, date | None, int]] = rows.values_list("counted", "day").annotate(Count("pk"))
    return counted


def _items(actor: Actor, since: datetime, user: User | None, reader: User | None) -> list[ItemUse]:
    """Return the use of each entry: those that misled most sessions first, then those received most."""
    servings = Serving.objects.filter(kind=Kind.COMPANY, at__gte=since)
    if user is not None:
        servings = servings.filter(user=user)
    rows = list(
        servings.values("source_id")
        .annotate(
            served=Count("pk"),
            others=Count("user", filter=~Q(user=reader), distinct=True),
            **count_verdicts("cited", actor.user),
            **count_verdicts("misled", actor.user),
        )
        .filter(others__gte=COLLEAGUES if reader else 0)
    )
    # By what is shown: else the order would tell of what is not.
    rows.sort(key=lambda row: (-visible_count(row, "misled"), -row["served"], row["source_id"]))
    del rows[ITEMS_SHOWN:]
    ids = [int(row["source_id"]) for row in rows]
    entries = CompanyEntry.objects.readable_by(actor.user, curator="curate" in actor.scopes).in_bulk(ids)
    proofs, cited = Proof.objects.in_bulk(ids), read_last_citations(actor.user, ids)
    return [
        ItemUse(
            entry=entries[pk],
            served=row["served"],
            cited=visible_count(row, "cited"),
            misled=visible_count(row, "misled"),
            last_cited_at=cited.get(pk),
            is_behind=pk in proofs and comes_behind(proofs[pk]),
        )
        for pk, row in zip(ids, rows, strict=True)
        if pk in entries
    ]

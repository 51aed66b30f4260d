"""The timeline of a memory: sessions, facts, notes, hypotheses and one's decided proposals, and what replaced what."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any

from django.db.models import BigIntegerField, CharField, Count, F, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Cast, Concat, Left, TruncDate
from django.utils import timezone
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.argument_types import Offset, Project
from bigmind.core.choices import OneOf
from bigmind.database.columns import column_names
from bigmind.database.pagination import Page
from knowledge.kinds import LISTED
from knowledge.models import Category, CompanyEntry, Fact, Hypothesis

from .activity import WEEKS

TITLE_CHARS = 300
"""So many weeks are in the strip above the list."""

KINDS_OF_EVENTS = list(dict.fromkeys(("session", "decision", *LISTED, "company")))
KindOfEvent = Annotated[
    str,
    OneOf(["", *KINDS_OF_EVENTS]),
    Field(description="Only events of this kind; a decision is a fact of that category."),
]


def _in_our_time(day: date) -> date:
    """Refuse days that calendars cannot count from."""
    if not 1970 <= day.year < 3000:
        raise ValueError("has to be between the years 1970 and 3000")
    return day


Week = Annotated[
    Annotated[date, AfterValidator(_in_our_time)] | None, Field(description="Only the seven days from this one on.")
]


@dataclass(frozen=True)
class Event:
    """One event: its time, its title, and what it replaced.

    `what` says which: `began`, `stored`, `written`, `confirmed`, `refuted`, `abandoned`, `approved`, `rejected` and the
    like. `other` is a fact that this one replaced; `newer` the fact that replaced this one.
    """

    at: datetime
    kind: str
    what: str
    id: str
    title: str
    project: str
    other_id: int | None
    other: str | None
    newer_id: int | None
    newer: str | None

    @property
    def day(self) -> date:
        return timezone.localdate(self.at)


@dataclass(frozen=True, kw_only=True)
class Timeline(Page[Event]):
    """A page of events, the newest first, and how many there were in each of the last weeks, by their first days."""

    weeks: list[tuple[date, int]]


def see_timeline(
    actor: Actor,
    *,
    kind: KindOfEvent = "",
    project: Project = "",
    week: Week = None,
    offset: Offset = 0,
    limit: int = 50,
) -> Timeline:
    """Return the events of the actor's memory, newest first; of one kind, project or week.

    Replaced facts are included, each with its replacement; archived ones are not.
    """
    parts = _events(actor.user, kind, project)
    counted = [rows.annotate(day=TruncDate("at")).values_list("day").annotate(events=Count("*")) for rows in parts]
    days = Counter[date]()
    for day, number in counted[0].union(*counted[1:], all=True):
        days[day] += number
    total = sum(number for day, number in days.items() if week is None or 0 <= (day - week).days < 7)
    shown = (
        [rows.filter(at__date__gte=week, at__date__lt=week + timedelta(days=7)) for rows in parts] if week else parts
    )
    of_all = [_as_events(rows) for rows in shown]
    ordered = of_all[0].union(*of_all[1:], all=True).order_by("-at", "kind", "thing")
    events = [Event(*row) for row in ordered[offset : offset + limit]]
    return Timeline(events, total, limit, offset, weeks=_by_week(days))


def _by_week(days: "Counter[date]") -> list[tuple[date, int]]:
    """How many events there were in each of the last weeks, from Monday on."""
    today = timezone.localdate()
    monday = today - timedelta(days=today.weekday())
    weeks: Counter[date] = Counter()
    for day, number in days.items():
        weeks[day - timedelta(days=day.weekday())] += number
    return [(first, weeks[first]) for back in reversed(range(WEEKS)) for first in [monday - timedelta(weeks=back)]]


def _events(user: User, kind: str, project: str) -> list[QuerySet[Any]]:
    """The rows of each kind of event with `at`, and what is said of them."""
    facts = Fact.objects.of(user).filter(Q(deprecated_at=None) | Q(superseded_by__isnull=False))
    before = Fact.objects.of(user).filter(superseded_by=OuterRef("pk")).order_by("-pk")
    facts = facts.annotate(
        old_id=Subquery(before.values("pk")[:1]),
        old=Subquery(before.annotate(text=Left("fact", TITLE_CHARS)).values("text")[:1]),
    )
    resolved = Hypothesis.objects.of(user).filter(set_aside_at=None).exclude(resolved_at=None)
    proposed = CompanyEntry.objects.own().proposed_by(user).exclude(decided_at=None)
    rows = {
        word: [_with_words(row.visible(user), word, row.own.event, row.began, *row.own.event_title)]
        for word, row in LISTED.items()
        if row.own
    }
    decision = Q(category=Category.DECISION)
    rows["fact"] = [_with_words(facts.exclude(decision), "fact", "stored", "created_at", "fact")]
    rows["decision"] = [_with_words(facts.filter(decision), "decision", "decided", "created_at", "fact")]
    rows["hypothesis"].append(_with_words(resolved, "hypothesis", "", "resolved_at", "hypothesis"))
    rows["company"] = [_with_words(proposed, "company", "", "decided_at", "title")]
    chosen = rows[kind] if kind else [part for parts in rows.values() for part in parts]
    return [part.filter(project=project) for part in chosen] if project else chosen


def _with_words(rows: QuerySet[Any], kind: str, what: str, moment: str, *title: str) -> QuerySet[Any]:
    """Rows with their moment, kind and title. Without a word of its own an event is called by the row's status."""
    named = Concat(title[0], Value("/"), title[1], output_field=TextField()) if len(title) > 1 else F(title[0])
    about = {} if "project" in column_names(rows.model) else {"project": Value("")}
    matching: QuerySet[Any] = rows.order_by().annotate(
        **about,
        at=F(moment),
        kind=Value(kind, output_field=CharField()),
        what=Cast(F("status") if not what else Value(what), TextField()),
        called=Left(Cast(named, TextField()), TITLE_CHARS),
    )
    return matching


def _as_events(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The columns of an event, the same for all kinds, so that one query brings a page of all."""
    if rows.model is Fact:
        other: dict[str, Any] = {
            "other_id_": F("old_id"),
            "other_": Cast(F("old"), TextField()),
            "newer_id_": F("superseded_by"),
            "newer_": Left(F("superseded_by__fact"), TITLE_CHARS),
        }
    else:
        nothing = Value(None, output_field=BigIntegerField())
        other = {
            "other_id_": nothing,
            "other_": Value(None, output_field=TextField()),
            "newer_id_": nothing,
            "newer_": Value(None, output_field=TextField()),
        }
    columns = ("at", "kind", "what", "thing", "called", "project", *other)
    values: QuerySet[Any] = rows.annotate(thing=Cast("pk", TextField()), **other).values_list(*columns)
    return values

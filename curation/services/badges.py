"""Badges of a user, each with its rule and the day it was earned. Computed, never stored."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from accounts.models import User
from curation.models import Action, Review
from knowledge.models import CompanyEntry, Fact, Session

DECISIONS = (Action.APPROVE, Action.REJECT, Action.REQUEST_CHANGES, Action.MERGE, Action.DEPRECATE, Action.SUPERSEDE)


@dataclass(frozen=True)
class Badge:
    """A badge that was earned: its name, its rule, and the day."""

    name: str
    rule: str
    earned_on: date


@dataclass(frozen=True)
class _Count:
    """A badge that is earned by doing something a number of times."""

    times: int
    name: str
    rule: str


_SESSIONS = (
    _Count(1, "First session", "Had a first session."),
    _Count(100, "Hundred sessions", "Had 100 sessions."),
    _Count(1000, "Thousand sessions", "Had 1,000 sessions."),
)
_FACTS = (_Count(100, "Hundred facts", "Had 100 facts remembered."),)
_ENTRIES = (
    _Count(1, "First contribution", "Had a first entry approved as company knowledge."),
    _Count(10, "Ten contributions", "Had 10 entries approved as company knowledge."),
)
_REVIEWS = (_Count(50, "Curator of fifty", "Made 50 decisions about company knowledge."),)
_STREAKS = (
    _Count(7, "Seven days", "Had sessions on 7 days in a row."),
    _Count(30, "Thirty days", "Had sessions on 30 days in a row."),
)


def badges_of(user: User) -> list[Badge]:
    """Return the badges of a user, the latest first."""
    sessions = Session.objects.of(user).in_view()
    decisions = Review.objects.filter(by=user, action__in=DECISIONS)
    badges = [
        *_badges_for_counts(_SESSIONS, sessions, "started_at"),
        *_badges_for_counts(_FACTS, Fact.objects.of(user), "created_at"),
        *_badges_for_counts(_ENTRIES, CompanyEntry.objects.approved().proposed_by(user), "decided_at"),
        *_badges_for_counts(_REVIEWS, decisions, "created_at"),
        *_badges_for_streaks(sessions),
    ]
    return sorted(badges, key=lambda badge: badge.earned_on, reverse=True)


def _badges_for_counts(counts: Iterable[_Count], rows: QuerySet[Any], moment: str) -> Iterable[Badge]:
    """Yield the badges for a number of rows, each dated by the row that reached the number."""
    moments = rows.order_by(moment).values_list(moment, flat=True)
    for count in counts:
        earned = moments[count.times - 1 : count.times].first()
        if earned is None:
            return
        yield Badge(count.name, count.rule, timezone.localdate(earned))


def _badges_for_streaks(sessions: QuerySet[Session]) -> Iterable[Badge]:
    """Return the badges for consecutive days, each dated by the day that first reached the number."""
    days = sessions.annotate(day=TruncDate("started_at")).order_by("day").values_list("day", flat=True).distinct()
    earned: dict[int, date] = {}
    streak, before = 0, date.min
    for day in days:
        streak = streak + 1 if day - before == timedelta(days=1) else 1
        earned.setdefault(streak, day)
        before = day
    return [Badge(count.name, count.rule, earned[count.times]) for count in _STREAKS if count.times in earned]

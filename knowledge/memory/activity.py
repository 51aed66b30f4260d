"""Activity: how much someone's agents worked and remembered, day by day, as a table of weeks."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from math import ceil

from django.db.models import Count
from django.db.models.functions import TruncDate
from django.utils import timezone
from django.utils.dates import WEEKDAYS

from accounts.models import User
from knowledge.models import Chunk, Fact, Session

WEEKS = 26
STEPS = 4


@dataclass(frozen=True)
class Day:
    """One day: how much happened, and on which step of the scale; 0 is nothing."""

    date: date
    count: int
    level: int


@dataclass(frozen=True)
class Weekday:
    """One row of the table: the same day of every week. A future day is None."""

    label: str
    days: list[Day | None]


@dataclass(frozen=True)
class Month:
    """A heading over the weeks that begin in one month."""

    first: date
    weeks: int


@dataclass(frozen=True)
class ScaleStep:
    """The range of one step of the scale: from `least` to `most` in a day."""

    level: int
    least: int
    most: int


@dataclass(frozen=True)
class HeatMap:
    """Some weeks of days, the scale they are measured by, and their totals."""

    months: list[Month]
    weekdays: list[Weekday]
    steps: list[ScaleStep]
    weeks: int
    total: int
    active_days: int
    busiest: Day | None
    longest_streak: int


def activity_of(user: User) -> HeatMap:
    """Return the days of someone's last weeks: sessions begun, exchanges flagged and facts learnt, in view."""
    today = timezone.localdate()
    first = _monday(today, WEEKS)
    counts: Counter[date] = Counter()
    for rows, moment in (
        (Session.objects.of(user).in_view(), "started_at"),
        (Chunk.objects.filter(user=user, set_aside_at=None, session__set_aside_at=None), "created_at"),
        (Fact.objects.of(user).current(), "created_at"),
    ):
        recent = rows.filter(**{f"{moment}__date__gte": first}).order_by().annotate(day=TruncDate(moment))
        counts.update(dict(recent.values_list("day").annotate(Count("pk"))))
    return heat_map(counts, until=today, weeks=WEEKS)


def heat_map(counts: Mapping[date, int], *, until: date, weeks: int) -> HeatMap:
    """Lay days out as a table with a column for each week, the last of which holds `until`."""
    first = _monday(until, weeks)
    steps = _steps([count for day, count in counts.items() if first <= day <= until and count])
    days = [_day(first + timedelta(days=number), counts, steps) for number in range(7 * weeks)]
    past = [day for day in days if day.date <= until]
    rows = [
        Weekday(str(label), [day if day.date <= until else None for day in days[number::7]])
        for number, label in WEEKDAYS.items()
    ]
    active = [day for day in past if day.count]
    return HeatMap(
        months=_months([day.date for day in days[::7]]),
        weekdays=rows,
        steps=steps,
        weeks=weeks,
        total=sum(day.count for day in active),
        active_days=len(active),
        busiest=max(active, key=lambda day: day.count, default=None),
        longest_streak=longest_streak(day.date for day in active),
    )


def longest_streak(days: Iterable[date]) -> int:
    """Return the longest run of consecutive days. The days come in order."""
    longest = current = 0
    before: date | None = None
    for day in days:
        current = current + 1 if before and day - before == timedelta(days=1) else 1
        longest, before = max(longest, current), day
    return longest


def _monday(until: date, weeks: int) -> date:
    return until - timedelta(days=until.weekday(), weeks=weeks - 1)


def _day(day: date, counts: Mapping[date, int], steps: Iterable[ScaleStep]) -> Day:
    count = counts.get(day, 0)
    return Day(day, count, next((step.level for step in steps if count and count <= step.most), 0))


def _steps(counts: Iterable[int]) -> list[ScaleStep]:
    """Divide the active days into steps of about equal size, so that one busy day does not make all others pale."""
    ordered = sorted(counts)
    ends = sorted({ordered[ceil(len(ordered) * step / STEPS) - 1] for step in range(1, STEPS + 1)}) if ordered else []
    # Fewer steps use the darker shades: the busiest day is always the darkest.
    level = STEPS - len(ends)
    starts = [1, *(end + 1 for end in ends)]
    return [ScaleStep(level + number, starts[number - 1], end) for number, end in enumerate(ends, start=1)]


def _months(mondays: Iterable[date]) -> list[Month]:
    grouped = (list(weeks) for _, weeks in groupby(mondays, key=lambda monday: (monday.year, monday.month)))
    return [Month(weeks[0], len(weeks)) for weeks in grouped]

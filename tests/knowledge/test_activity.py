"""Activity by day: laid out in weeks, measured in steps of about as many days each, and said in words."""

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from knowledge.memory.activity import activity_of, heat_map, longest_streak
from knowledge.memory.archive import set_aside
from knowledge.models import Session
from tests.factories import make_actor
from tests.knowledge.factories import make_chunk, make_fact, make_session

SATURDAY = date(2026, 11, 21)


def test_a_table_has_seven_rows_and_a_column_for_each_week() -> None:
    table = heat_map({}, until=SATURDAY, weeks=26)

    assert [weekday.label for weekday in table.weekdays][::6] == ["Monday", "Sunday"]
    assert {len(weekday.days) for weekday in table.weekdays} == {26}
    assert sum(month.weeks for month in table.months) == 26


def test_the_days_to_come_of_this_week_are_left_out() -> None:
    table = heat_map({}, until=SATURDAY, weeks=2)

    saturday, sunday = table.weekdays[5].days, table.weekdays[6].days

    assert saturday[-1] is not None
    assert saturday[-1].date == SATURDAY
    assert sunday[-1] is None


def test_one_wild_day_does_not_pale_the_others() -> None:
    counts = {SATURDAY - timedelta(days=number): count for number, count in enumerate([1, 2, 3, 4, 5, 6, 7, 1000])}

    table = heat_map(counts, until=SATURDAY, weeks=2)

    levels = {day.count: day.level for weekday in table.weekdays for day in weekday.days if day}
    assert levels == {0: 0, 1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 6: 3, 7: 4, 1000: 4}
    assert [(step.least, step.most) for step in table.steps] == [(1, 2), (3, 4), (5, 6), (7, 1000)]


def test_days_that_are_all_alike_have_one_step_and_the_darkest_shade() -> None:
    counts = {SATURDAY - timedelta(days=number): 3 for number in range(5)}

    table = heat_map(counts, until=SATURDAY, weeks=2)

    assert [(step.level, step.least, step.most) for step in table.steps] == [(4, 1, 3)]


def test_it_says_what_it_amounts_to() -> None:
    counts = {SATURDAY: 2, SATURDAY - timedelta(days=1): 5, SATURDAY - timedelta(days=6): 1}

    table = heat_map(counts, until=SATURDAY, weeks=4)

    assert (table.total, table.active_days, table.longest_streak) == (8, 3, 2)
    assert table.busiest is not None
    assert table.busiest.count == 5


def test_what_lies_before_the_table_is_not_counted() -> None:
    table = heat_map({SATURDAY - timedelta(weeks=30): 9}, until=SATURDAY, weeks=26)

    assert (table.total, table.steps, table.busiest) == (0, [], None)


def test_no_days_are_no_streak() -> None:
    assert longest_streak([]) == 0


@pytest.mark.django_db
def test_sessions_exchanges_and_facts_of_this_person_alone_are_counted() -> None:
    actor, other = make_actor(), make_actor()
    session = make_session(actor, is_open=True)
    make_chunk(actor, session=session)
    make_fact(actor)
    make_fact(other)
    set_aside(actor, kind="session", id=str(make_session(actor).pk))

    table = activity_of(actor.user)

    assert (table.total, table.active_days) == (3, 1)


@pytest.mark.django_db
def test_a_day_ends_at_midnight_where_people_are(settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    actor = make_actor()
    midnight = datetime.combine(timezone.localdate(), datetime.min.time(), ZoneInfo("Europe/Berlin"))
    Session.objects.create(user=actor.user, started_at=midnight - timedelta(minutes=30))

    with timezone.override("Europe/Berlin"):
        table = activity_of(actor.user)

    assert table.busiest is not None
    assert table.busiest.date == midnight.date() - timedelta(days=1)

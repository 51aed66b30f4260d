"""The days and times that people and their agents read are those of the person's own calendar."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import DateTimeField
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from bigmind.core.errors import BigMindError
from bigmind.core.operations import Effect
from bigmind.environment import Environment
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.context.sessions import end_session, start_session
from knowledge.memory.facts import store_fact
from knowledge.models import Fact, Hypothesis, Session
from tests.capture.hooking import HookedClient
from tests.factories import browser_of, make_actor, make_key, make_user
from tests.knowledge.factories import make_fact
from tests.serving import Served
from tests.transports.mcp_wire import Wire, text_of
from tests.transports.person import arguments_for, make_person

pytestmark = pytest.mark.django_db

EAST, WEST = "Pacific/Auckland", "America/Los_Angeles"
STORED = {
    EAST: (datetime(2026, 1, 14, 12, 30, tzinfo=UTC), "2026-01-15"),
    WEST: (datetime(2026, 1, 15, 6, 30, tzinfo=UTC), "2026-01-14"),
}
"""A moment, and the day that it is on in a zone. In UTC it is the other one of the 14th and the 15th."""
ZONES = pytest.mark.parametrize("zone", [EAST, WEST])
FACT = "The staging database listens on port 5544."


def _put_everything_at(moment: datetime) -> None:
    """Let all that is stored have happened at one moment."""
    with connection.cursor() as cursor:
        for model in apps.get_models():
            columns = [field.column for field in model._meta.concrete_fields if isinstance(field, DateTimeField)]
            for column in columns if model._meta.app_label == "knowledge" else ():
                table = model._meta.db_table
                cursor.execute(f'UPDATE "{table}" SET "{column}" = %s WHERE "{column}" < clock_timestamp()', [moment])


def _other_day(day: str) -> re.Pattern[str]:
    """The day of UTC, as agents and pages write it."""
    number = 29 - int(day[-2:])
    return re.compile(rf"2026-01-{number}(?!T)|\b{number} January 2026")


@ZONES
def test_whatever_an_agent_or_a_command_reads_is_dated_by_the_calendar_of_the_person(zone: str) -> None:
    person, (moment, day) = make_person(), STORED[zone]
    _put_everything_at(moment)
    User.objects.update(time_zone=zone)
    person.actor.user.refresh_from_db()

    replies = {}
    for operation in CATALOGUE.values():
        if operation.effect is Effect.READ:
            with suppress(BigMindError):
                outcome = perform(operation, person.actor, arguments_for(operation, person), transport="mcp")
                replies[operation.name] = outcome.markdown()

    assert len(replies) > 30
    assert sum(day in reply for reply in replies.values()) >= 8
    assert {name: reply for name, reply in replies.items() if _other_day(day).search(reply)} == {}


@ZONES
def test_pages_of_the_memory_are_dated_by_the_calendar_of_the_person(zone: str) -> None:
    person, (moment, day) = make_person(), STORED[zone]
    _put_everything_at(moment)
    User.objects.update(time_zone=zone)
    browser = browser_of(person.actor.user)

    routes = ["memory", "memory-facts", "memory-sessions", "memory-timeline", "memory-hypotheses", "memory-notes"]
    pages = {
        route: browser.get(reverse(route)).text for route in [*routes, "memory-context", "captured", "kb", "company"]
    }

    assert {name for name, page in pages.items() if _other_day(day).search(_without_moments(page))} == set()


def _without_moments(page: str) -> str:
    """Take out what programs read: moments with their zone."""
    return re.sub(r'datetime="[^"]*"', "", page)


@ZONES
def test_a_session_is_dated_by_the_calendar_of_the_person_over_mcp(served: Served, zone: str) -> None:
    moment, day = STORED[zone]
    actor = make_actor(make_user(time_zone=zone))
    start_session(actor)
    end_session(actor, one_liner="Moved the database")
    Session.objects.update(started_at=moment, ended_at=moment)
    wire = Wire(served, make_key(actor.user).text)

    listed, started = (text_of(wire.call(name)) for name in ("memory_list_sessions", "memory_start_session"))

    assert f"| {day} |" in listed
    assert f"| {day} | Moved the database" in started


@ZONES
def test_a_hook_dates_what_it_recalls_by_the_calendar_of_the_person(zone: str) -> None:
    moment, day = STORED[zone]
    actor = make_actor(make_user(time_zone=zone))
    claude = HookedClient(actor.user)
    claude.start()
    Fact.objects.filter(pk=make_fact(actor, FACT).pk).update(created_at=moment)

    line = claude.prompt("On which port does the staging database listen?")

    assert f"({day}" in line


@pytest.fixture(params=[(EAST, 11, 30), (WEST, 6, 30)])
def late(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[User, datetime]:
    """Someone, and the moment: half past midnight there, and half past ten in the evening; UTC has another day."""
    zone, hour, minute = request.param
    now = (datetime.now(UTC) - timedelta(days=2)).replace(hour=hour, minute=minute, second=0, microsecond=0)
    monkeypatch.setattr(timezone, "now", lambda: now)
    return make_user(time_zone=zone), now


def _remember(user: User, headline: str, moment: datetime) -> None:
    actor = make_actor(user)
    session = start_session(actor).session
    end_session(actor, session_id=str(session.pk), one_liner=headline)
    Session.objects.filter(pk=session.pk).update(started_at=moment, ended_at=moment)


def _midnight(user: User, now: datetime) -> datetime:
    return now.astimezone(ZoneInfo(user.time_zone)).replace(hour=0, minute=0)


@pytest.mark.parametrize("door", ["mcp", "rest", "hook", "page"])
def test_yesterday_ends_at_midnight_where_the_person_is(late: tuple[User, datetime], door: str) -> None:
    (user, now), question = late, "What did we do yesterday?"
    midnight, claude = _midnight(user, now), HookedClient(user)
    claude.start()
    _remember(user, "Repaired the tide importer", midnight - timedelta(minutes=20))
    _remember(user, "Painted the lighthouse", midnight + timedelta(minutes=1))

    answer = claude.prompt(question) if door == "hook" else _ask(user, door, question)

    assert "Repaired the tide importer" in answer
    assert "Painted the lighthouse" not in answer.partition("Repaired the tide importer")[0]


def _ask(user: User, door: str, question: str) -> str:
    key = make_key(user)
    match door:
        case "mcp":
            recall = CATALOGUE["memory_recall"]
            return perform(recall, make_actor(user), {"query": question}, transport="mcp").markdown()
        case "rest":
            headers = {"Authorization": f"Bearer {key.text}"}
            return Client().get("/api/v1/recall/", {"query": question}, headers=headers).text
    return browser_of(user).get(reverse("memory"), {"q": question}).text


def test_a_date_in_words_is_a_day_of_the_person(late: tuple[User, datetime]) -> None:
    user, now = late
    sent = {"category": "decision", "fact": FACT, "valid_from": "today"}

    perform(CATALOGUE["memory_store_fact"], make_actor(user), sent, transport="mcp")

    assert Fact.objects.get().valid_from == _midnight(user, now)


def test_a_belief_is_due_when_the_day_has_come_where_the_person_is(late: tuple[User, datetime]) -> None:
    user, now = late
    actor, today = make_actor(user), _midnight(user, now).date()

    sent = {"hypothesis": "I believe the leak is in the pool.", "check_in_days": 1}
    perform(CATALOGUE["memory_add_hypothesis"], actor, sent, transport="mcp")

    belief = Hypothesis.objects.get()
    assert belief.check_on == today + timedelta(days=1)


def test_agents_go_by_the_zone_of_the_browser_until_one_is_chosen(client: Client) -> None:
    user, (moment, day) = make_user(), STORED[EAST]
    fact = store_fact(make_actor(user), category="decision", fact=FACT).fact
    Fact.objects.filter(pk=fact.pk).update(created_at=moment)
    client.force_login(user)
    client.cookies["bigmind_zone"] = EAST
    client.get(reverse("home"))

    actor = make_actor(User.objects.get(pk=user.pk))
    reply = perform(CATALOGUE["memory_get_context"], actor, {}, transport="mcp").markdown()

    assert day in reply


@pytest.mark.parametrize(("mode", "zone"), [("personal", EAST), ("team", "UTC")])
def test_alone_on_a_machine_its_zone_is_that_of_who_uses_it(
    monkeypatch: pytest.MonkeyPatch, mode: str, zone: str
) -> None:
    monkeypatch.setenv("TZ", f":{EAST}")

    assert Environment(mode=mode).zone == zone

"""The weekly letter: what it says is true and has its evidence, it is one person's own, and it is mailed once."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core import mail
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from bigmind.core.private_row_numbers import number_of
from curation.models import Delivery, Subscription
from curation.notifications.deliveries import deliver_pending
from curation.notifications.weekly_mail import choose_letter, last_due, say_days, send_letters
from curation.services.weekly_letter import EMPTY, LetterLine, Week, WeeklyLetter, write_weekly_letter
from knowledge.models import CompanyEntry, Fact, Session, UnansweredQuestion
from knowledge.services.company import search_global
from knowledge.services.facts import correct_fact, deprecate_fact, erase_fact
from knowledge.services.sessions import end_session, start_session
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_fact, make_hypothesis
from tests.meanwhile import meanwhile

pytestmark = pytest.mark.django_db

_TODAY = datetime.now(UTC).date()
MONDAY = datetime.combine(_TODAY - timedelta(days=_TODAY.weekday() + 7), time(7, 30), UTC)
"""A Monday that is past: half past eight in Lagos, where clocks are never changed; night in New York."""
SUNDAY = MONDAY.date() - timedelta(days=1)
SEVEN = (
    "Tea is preferred to coffee.",
    "Invoices are numbered by year and branch.",
    "Vault keeps secrets.",
    "Lisbon hosts the design team.",
    "Kenji reviews pull requests for iOS.",
    "ClickHouse merges run at night.",
    "Stripe sends <b>webhooks</b> to the outbox.",
)


def lines_of(actor: Actor, name: str, **asked: Any) -> list[LetterLine]:
    parts = {part.name: part for part in write_weekly_letter(actor, **asked).parts}
    return list(parts[name].lines) if name in parts else []


def told_of(actor: Actor, name: str) -> list[tuple[str, str]]:
    return [(line.text, line.note) for line in lines_of(actor, name)]


def move_back(thing: Any, field: str, **by: float) -> None:
    type(thing).objects.filter(pk=thing.pk).update(**{field: timezone.now() - timedelta(**by)})


def test_a_week_without_anything_says_so_in_one_line() -> None:
    letter = write_weekly_letter(make_actor())

    assert letter.is_empty
    assert letter.summary == EMPTY
    assert "\n" not in EMPTY


def test_what_was_learned_is_counted_and_leads_to_where_it_was_said() -> None:
    actor = make_actor()
    session = start_session(actor, project="atlas").session
    for text in SEVEN:
        make_fact(actor, text)
    move_back(make_fact(actor, "Long known."), "created_at", days=8)

    (part,) = write_weekly_letter(actor).parts

    assert (part.name, part.total, part.left) == ("learned", 7, 2)
    assert part.lines[0].text == SEVEN[-1]
    assert {line.evidence for line in part.lines} == {reverse("memory-session", args=[session.pk])}


def test_what_helped_says_in_how_many_of_how_many_sessions() -> None:
    actor = make_agent(make_user(), "claude-code")
    entry = approved_entry(title="Retries", content="A failed call is tried three times.")
    for used in ([entry.handle], [entry.handle], []):
        session = start_session(actor).session
        search_global(actor, query="how often is a failed call tried?")
        end_session(actor, session_id=str(session.pk), one_liner="Done", used=used)
    (*_, last) = Session.objects.filter(servings__cited=True).order_by("ended_at")

    (line,) = lines_of(actor, "helped")

    assert (line.handle, line.note) == (entry.handle, "Helped in 2 of 3 sessions that had it")
    assert line.address == reverse("company-entry", args=[entry.pk])
    assert line.evidence == reverse("memory-session", args=[last.pk])


def test_what_was_asked_in_vain_is_there_until_it_is_known() -> None:
    actor = make_agent(make_user(), "claude-code")
    for _ in range(2):
        search_global(actor, query="Who signs off the holiday calendar?")
    asked = UnansweredQuestion.objects.get()

    assert told_of(actor, "unknown") == [("Who signs off the holiday calendar?", "Asked 2 times so far")]
    assert lines_of(actor, "unknown")[0].address.endswith(f"#question-{number_of(asked.pk)}")
    assert lines_of(actor, "unknown", until=timezone.localdate() - timedelta(days=7)) == []


def test_what_no_longer_holds_says_what_came_in_its_place_and_who_says_so() -> None:
    actor, curator = make_actor(), make_actor(make_user("cora", role="curator", display_name="Cora"))
    old = make_fact(actor, "Releases go out on Mondays.")
    new = correct_fact(actor, fact_id=old.pk, fact="Releases go out on Tuesdays.")
    deprecate_fact(actor, fact_id=make_fact(actor, "The office is in Lisbon.").pk, reason="It moved.")
    entry = approved_entry(actor, curator=curator, title="Health", content="Every service answers /healthz.")
    decide_at_latest(curator, entry_id=entry.pk, action="deprecate", notes="We use gRPC.")
    due = approved_entry(actor, curator=curator, title="Sign in", content="Texts say sign in.")
    CompanyEntry.objects.filter(pk=due.pk).update(review_after=timezone.localdate() - timedelta(days=1))

    told = dict(told_of(actor, "false"))

    assert told["Releases go out on Mondays."] == f"Replaced by F{new.number}"
    assert told["The office is in Lisbon."] == "Archived: It moved."
    assert told["Health"] == "Deprecated, says Cora: We use gRPC."
    assert told["Sign in"].startswith("To be verified since ")


def test_at_most_three_decisions_are_asked_for_and_two_of_one_kind() -> None:
    curator = make_actor(curator=True)
    for _ in range(4):
        propose()
    beliefs = [make_hypothesis(curator) for _ in range(2)]
    for belief in beliefs:
        move_back(belief, "created_at", days=40)

    asked = lines_of(curator, "decide")

    assert [line.address.split("/")[1] for line in asked] == ["curation", "curation", "memory"]


def test_nothing_of_others_is_in_a_letter() -> None:
    ada, bob = make_agent(make_user("ada"), "claude-code"), make_agent(make_user("bob"), "claude-code")
    start_session(ada)
    make_fact(ada, "Salaries are paid from Zanzibar.")
    search_global(ada, query="Which bank of Zanzibar pays?")
    make_hypothesis(ada, "I believe that Zanzibar is late.")
    propose(ada, title="Zanzibar first", content="Zanzibar is always paid first.")
    approved = approved_entry(ada, title="Refunds of Zanzibar", content="Refunds need two approvals.")
    decide_at_latest(make_actor(curator=True), entry_id=approved.pk, action="deprecate")

    assert "Zanzibar" not in str(write_weekly_letter(bob))
    assert "Zanzibar" in str(write_weekly_letter(ada))


@pytest.mark.parametrize("until", ["0001-01-01", "1999-12-31", "9999-12-31", "soon"])
def test_a_day_that_no_letter_can_end_with_is_refused(until: str) -> None:
    with pytest.raises(Invalid, match="until"):
        carry_out(write_weekly_letter, make_actor(), {"until": until})


def test_days_begin_at_the_midnight_of_the_reader() -> None:
    actor = make_actor(make_user(time_zone="Pacific/Auckland"))
    fact = make_fact(actor, "Learned on Sunday, where it was Monday.")
    Fact.objects.filter(pk=fact.pk).update(created_at=datetime.combine(SUNDAY, time(12), UTC))

    found = [bool(lines_of(actor, "learned", until=day)) for day in (SUNDAY, MONDAY.date())]

    assert found == [False, True]


# The page


def test_the_page_links_every_line_and_pages_through_weeks(client: Client, django_assert_max_num_queries: Any) -> None:
    actor = make_actor()
    start_session(actor)
    for text in SEVEN:
        make_fact(actor, text)
    client.force_login(actor.user)
    client.get(reverse("letter"))

    with django_assert_max_num_queries(30):
        page = client.get(reverse("letter"))

    assert len(re.findall(r'href="/memory/facts/\d+/"', page.text)) == 5
    assert "Stripe sends &lt;b&gt;webhooks&lt;/b&gt;" in page.text
    assert ">2 more<" in page.text
    (back,) = re.findall(r'href="(\?until=[0-9-]+)">Earlier', page.text)
    earlier = client.get(f"{reverse('letter')}{back}")
    assert str(EMPTY) in earlier.text


def test_an_address_that_names_no_day_is_answered_in_words(client: Client) -> None:
    client.force_login(make_user())

    assert client.get(reverse("letter"), {"until": "soon"}).status_code == 422


# The mail


@pytest.fixture
def mail_server(settings: Any) -> None:
    settings.EMAIL_HOST = "mail.example.com"
    settings.PUBLIC_URL = "https://bigmind.example.com"


@pytest.fixture
def reader(mail_server: None) -> Actor:
    """Someone in Lagos who wants the letter, and last had one a week ago."""
    actor = make_actor(make_user("ada", email="ada@example.com", time_zone="Africa/Lagos"))
    Subscription.objects.create(user=actor.user, letter=True, letter_day=MONDAY.date() - timedelta(days=7))
    return actor


def learn(actor: Actor, text: str = "The queue drains at night.") -> Fact:
    """Store something in the week that the letter of MONDAY tells of."""
    fact = make_fact(actor, text)
    Fact.objects.filter(pk=fact.pk).update(created_at=MONDAY - timedelta(days=3))
    return fact


def test_a_letter_is_mailed_once_in_html_and_text_with_its_evidence(reader: Actor) -> None:
    learn(reader, "The queue <b>drains</b> at night.")

    queued = [send_letters(MONDAY), send_letters(MONDAY), send_letters(MONDAY + timedelta(days=2))]
    deliver_pending()
    deliver_pending()

    (letter,) = mail.outbox
    html = letter.alternatives[0].content
    assert queued == [1, 0, 0]
    assert letter.subject.startswith("Your week in BigMind, ")
    assert "The queue <b>drains</b> at night." in letter.body
    assert "The queue &lt;b&gt;drains&lt;/b&gt; at night." in html
    for text in (letter.body, html):
        assert re.search(r"https://bigmind\.example\.com/memory/facts/\d+/", text)
        assert f"https://bigmind.example.com/letter/?until={SUNDAY}" in text
    assert "#letters>" in letter.extra_headers["List-Unsubscribe"]
    assert str(Delivery.objects.get().pk) in letter.extra_headers["Message-ID"]


def test_a_week_in_which_nothing_happened_brings_no_mail(reader: Actor) -> None:
    assert send_letters(MONDAY) == 0
    learn(reader)
    assert send_letters(MONDAY + timedelta(hours=1)) == 0
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    ("late", "queued"),
    [
        pytest.param(timedelta(hours=-1), 0, id="before its hour"),
        pytest.param(timedelta(0), 1, id="in its hour"),
        pytest.param(timedelta(days=4), 1, id="after four days without a scheduler"),
    ],
)
def test_a_letter_waits_for_its_hour_and_a_missed_hour_is_made_up_for(
    reader: Actor, late: timedelta, queued: int
) -> None:
    learn(reader)

    assert send_letters(MONDAY + late) == queued


def test_another_weekday_or_zone_brings_no_second_letter(reader: Actor, settings: Any) -> None:
    learn(reader)
    first = send_letters(MONDAY)

    settings.LETTER_WEEKDAY = "tuesday"
    next_day = send_letters(MONDAY + timedelta(days=1))
    settings.LETTER_WEEKDAY = "monday"
    choose_letter(reader, letter=True, time_zone="America/New_York")
    elsewhere = send_letters(MONDAY + timedelta(hours=8))

    assert (first, next_day, elsewhere) == (1, 0, 0)


def test_after_the_clock_was_set_back_letters_come_again(reader: Actor) -> None:
    Subscription.objects.update(letter_day=MONDAY.date() + timedelta(days=700))
    learn(reader)

    assert send_letters(MONDAY) == 1


def test_what_is_erased_before_it_is_sent_is_not_in_the_mail(reader: Actor) -> None:
    gone = learn(reader, "The door code is K4711.")
    learn(reader)
    send_letters(MONDAY)

    erase_fact(reader, fact_id=gone.pk)
    kept = str(Delivery.objects.get().body)
    deliver_pending()

    (letter,) = mail.outbox
    assert "K4711" not in kept + letter.body + letter.alternatives[0].content


def test_who_stops_it_before_it_is_sent_gets_none(reader: Actor) -> None:
    learn(reader)
    send_letters(MONDAY)

    choose_letter(reader, letter=False)
    deliver_pending()

    assert mail.outbox == []
    assert not Delivery.objects.exists()


def test_nobody_gets_it_unasked_and_the_first_one_comes_a_week_later(mail_server: None) -> None:
    actor = make_actor(make_user("ada", email="ada@example.com"))
    fact = make_fact(actor)

    before = send_letters()
    choose_letter(actor, letter=True)
    at_once = send_letters()
    day = Subscription.objects.get().letter_day
    Fact.objects.filter(pk=fact.pk).update(created_at=datetime.combine(day - timedelta(days=3), time(), UTC))
    Subscription.objects.update(letter_day=F("letter_day") - timedelta(days=7))
    later = send_letters()

    assert (before, at_once, later) == (0, 0, 1)


def test_choosing_it_forgets_nothing_of_a_digest_that_is_written_meanwhile(reader: Actor) -> None:
    note_digest = Subscription.objects.filter(user=reader.user)

    with meanwhile(lambda: note_digest.update(last_sent_at=MONDAY), after='SELECT "curation_subscription'):
        choose_letter(reader, letter=False)

    assert note_digest.values_list("letter", "last_sent_at").get() == (False, MONDAY)


def test_it_needs_an_address_and_a_known_zone(mail_server: None) -> None:
    with pytest.raises(Invalid, match="e-mail address"):
        choose_letter(make_actor(), letter=True)
    with pytest.raises(Invalid, match="no time zone"):
        carry_out(choose_letter, make_actor(), {"time_zone": "Middle/Earth"})


@pytest.mark.parametrize(
    ("now", "zone", "day"),
    [
        ("2026-11-23T06:59:00+00:00", "Europe/Berlin", "2026-11-16"),
        ("2026-11-23T07:00:00+00:00", "Europe/Berlin", "2026-11-23"),
        ("2026-11-23T07:00:00+00:00", "America/New_York", "2026-11-16"),
        ("2026-11-22T19:00:00+00:00", "Pacific/Auckland", "2026-11-23"),
        ("2026-11-29T23:00:00+00:00", "UTC", "2026-11-23"),
    ],
)
def test_the_day_of_letters_is_that_of_the_reader(now: str, zone: str, day: str) -> None:
    assert last_due(datetime.fromisoformat(now), ZoneInfo(zone)).isoformat() == day


@pytest.mark.parametrize(
    ("last", "days"),
    [
        (date(2026, 11, 22), "16 November to 22 November 2026"),
        (date(2026, 12, 3), "27 November to 3 December 2026"),
        (date(2027, 1, 3), "28 December 2026 to 3 January 2027"),
    ],
)
def test_the_days_of_a_letter_are_said_in_words(last: date, days: str) -> None:
    letter = WeeklyLetter(Week(last, *[datetime.combine(last, time(), UTC)] * 2), [])

    assert say_days(letter) == days


def test_times_are_shown_in_the_zone_of_the_browser_until_one_is_chosen(client: Client) -> None:
    actor = make_actor(make_user("ada"))
    fact = make_fact(actor)
    Fact.objects.filter(pk=fact.pk).update(created_at=datetime(2026, 1, 15, 12, tzinfo=UTC))
    client.force_login(actor.user)

    def look() -> str:
        return client.get(reverse("memory-fact", args=[fact.pk])).text

    unknown = look()
    client.cookies["bigmind_zone"] = "Asia/Tokyo"
    of_browser = look()
    client.cookies["bigmind_zone"] = "../../etc/passwd"
    forged = look()
    client.post(reverse("notices-settings"), {"weekly": "1", "time_zone": "Europe/Berlin"})
    client.cookies["bigmind_zone"] = "Asia/Tokyo"
    chosen = look()

    assert ["12:00 UTC" in unknown, "21:00 JST" in of_browser, "12:00 UTC" in forged, "13:00 CET" in chosen] == [
        True
    ] * 4

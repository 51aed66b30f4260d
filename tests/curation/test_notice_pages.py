"""What people are told on the pages, how they choose to be written to, and what admins see of what is sent."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from curation.models import Channel, Delivery, Frequency, Notice
from curation.notifications.notices import count_unseen
from curation.services.digests import subscription_of
from knowledge.models import CompanyEntry, Fact
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor, make_user
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db


@pytest.fixture
def author(client: Client) -> Actor:
    """A member who is signed in."""
    author = make_actor(make_user("ada", display_name="Ada"))
    client.force_login(author.user)
    return author


def decided(author: Actor, **said: Any) -> CompanyEntry:
    """Let a curator reject a proposal, so that its author is told."""
    entry = propose(author, **said)
    return decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="reject", notes="No.").entry


def delivery(**fields: Any) -> Delivery:
    return Delivery.objects.create(
        **{"channel": Channel.WEBHOOK, "event": "company.approve", "body": {"data": {"handle": "C7"}}, **fields}
    )


def test_what_is_new_is_listed_first_and_marked_in_words(client: Client, author: Actor) -> None:
    old = decided(author, title="Older")
    client.post(reverse("notices-seen"))
    new = decided(author, title="Newer")

    page = client.get(reverse("notices"))

    assert page.text.index("Newer") < page.text.index("Older")
    assert page.text.count('data-tone="info">new</span>') == 1
    assert all(reverse("company-entry", args=[entry.pk]) in page.text for entry in (old, new))


def test_how_much_is_new_stands_on_every_page_until_it_was_seen(client: Client, author: Actor) -> None:
    decided(author)
    decided(author)

    before = client.get(reverse("connect"))
    client.post(reverse("notices-seen"))
    after = client.get(reverse("connect"))

    assert '<small><span>2</span><span class="visually-hidden"> new</span></small>' in before.text
    assert '<small hidden><span></span><span class="visually-hidden"> new</span></small>' in after.text
    assert reverse("notices") in after.text


def test_nobody_reads_what_somebody_else_was_told(client: Client, author: Actor) -> None:
    decided(make_actor(), title="Zanzibar")

    page = client.get(reverse("notices"))
    client.post(reverse("notices-seen"))

    assert "Zanzibar" not in page.text
    assert Notice.objects.filter(seen_at=None).exists()


def test_a_long_list_is_turned_page_by_page_in_few_queries(client, author, django_assert_max_num_queries):
    entry = propose(author)
    Notice.objects.bulk_create(Notice(user=author.user, entry=entry, text=f"News {number}") for number in range(120))
    client.get(reverse("notices"))

    with django_assert_max_num_queries(10):
        page = client.get(reverse("notices"), {"offset": "30"})

    assert "31 to 60 of 120 notices" in page.text
    assert ">99+<" in page.text


def test_without_a_mail_server_no_letters_are_offered(client: Client, author: Actor) -> None:
    assert "By e-mail" not in client.get(reverse("notices")).text
    assert client.post(reverse("notices-settings"), {"frequency": "daily"}).status_code == 409


def test_a_person_chooses_how_often_and_where_to(client: Client, author: Actor, settings: Any) -> None:
    settings.EMAIL_HOST = "mail.example.com"

    page = client.post(reverse("notices-settings"), {"frequency": "weekly", "address": "ada@example.com"}, follow=True)

    author.user.refresh_from_db()
    assert author.user.email == "ada@example.com"
    assert subscription_of(author.user).frequency == Frequency.WEEKLY
    assert "once a week at most" in page.text
    assert 'value="ada@example.com"' in page.text


def test_what_cannot_be_chosen_is_refused_and_changes_nothing(client: Client, author: Actor, settings: Any) -> None:
    settings.EMAIL_HOST = "mail.example.com"

    for sent, said in (
        ({"frequency": "daily", "address": ""}, "there is no address to write to"),
        ({"frequency": "daily", "address": "nonsense"}, "is not an e-mail address"),
        ({"frequency": "daily", "address": f"{'a' * 60}@{'b.' * 120}example.com"}, "This is "),
        ({"frequency": "hourly", "address": "ada@example.com"}, "daily"),
        ({"address": "ada@example.com"}, "required"),
    ):
        page = client.post(reverse("notices-settings"), sent)

        assert page.status_code == 422, sent
        assert said in page.text, sent

    author.user.refresh_from_db()
    assert author.user.email == ""


def test_an_admin_sends_again_what_was_given_up(client: Client) -> None:
    client.force_login(make_actor(admin=True).user)
    failed = delivery(given_up_at=timezone.now() - timedelta(days=1), attempts=7, error="Away.")

    page = client.post(reverse("deliveries-again", args=[failed.pk]), follow=True)

    failed.refresh_from_db()
    assert (failed.given_up_at, failed.attempts) == (None, 0)
    assert "sent again" in page.text


def test_what_has_arrived_is_not_sent_twice(client: Client) -> None:
    client.force_login(make_actor(admin=True).user)
    arrived = delivery(delivered_at=timezone.now())

    assert client.post(reverse("deliveries-again", args=[arrived.pk])).status_code == 409
    assert client.post(reverse("deliveries-again", args=[uuid4()])).status_code == 404
    arrived.refresh_from_db()
    assert arrived.delivered_at


def test_what_was_seen_is_counted_no_more(author: Actor) -> None:
    decided(author)

    assert count_unseen(author.user) == 1


@pytest.mark.parametrize("reason", ["proposed", "commented", ""])
def test_the_inbox_says_why_one_is_told_where_the_notice_does(client: Client, reason: str) -> None:
    reader = make_actor()
    Notice.objects.create(user=reader.user, entry=approved_entry(), text="It was recalled.", reason=reason)
    client.force_login(reader.user)

    page = client.get(reverse("home")).text

    said = {"proposed": "Because you proposed it", "commented": "Because you commented on it"}
    assert "It was recalled." in page
    assert [name for name, words in said.items() if words in page] == ([reason] if reason else [])


def test_times_are_shown_in_the_zone_of_the_browser_until_one_is_chosen(client: Client, author: Actor) -> None:
    fact = make_fact(author)
    Fact.objects.filter(pk=fact.pk).update(created_at=datetime(2026, 1, 15, 12, tzinfo=UTC))

    def look() -> str:
        return client.get(reverse("memory-fact", args=[fact.pk])).text

    unknown = look()
    client.cookies["bigmind_zone"] = "Asia/Tokyo"
    of_browser = look()
    client.cookies["bigmind_zone"] = "../../etc/passwd"
    forged = look()
    client.post(reverse("notices-settings"), {"locale": "1", "time_zone": "Europe/Berlin"})
    client.cookies["bigmind_zone"] = "Asia/Tokyo"
    chosen = look()

    shown = ["12:00 UTC" in unknown, "21:00 JST" in of_browser, "21:00 JST" in forged, "13:00 CET" in chosen]
    assert shown == [True] * 4


def test_a_time_zone_that_does_not_exist_is_refused_where_it_was_chosen(client: Client, author: Actor) -> None:
    page = client.post(reverse("notices-settings"), {"locale": "1", "time_zone": "Middle/Earth"})

    assert page.status_code == 422
    assert "Use a name such as Europe/Berlin" in page.text

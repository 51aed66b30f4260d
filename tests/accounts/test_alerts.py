"""Alerts: keys that end soon are told of at 14 and at 3 days, once each, in the app and to whom wants letters."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from accounts.keys import revoke_key, rotate_key
from accounts.models import Alert, ApiKey, User
from accounts.services.alerts import unseen_alerts
from accounts.services.key_warnings import warn_of_ending_keys
from accounts.tasks import warn_of_ending_keys as task
from curation.models import Frequency
from curation.notifications.deliveries import deliver_pending
from curation.services.digests import send_digests, subscribe
from tests.factories import make_key, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def mail_server(settings: Any) -> None:
    """A server is configured; what is sent stays in the outbox."""
    settings.EMAIL_HOST = "localhost"


@pytest.fixture
def ada() -> User:
    return make_user("ada", email="ada@example.com")


def key_that_lives(user: User, days: float) -> ApiKey:
    return make_key(user, label="Laptop", expires_at=timezone.now() + timedelta(days=days)).key


def days_before(key: ApiKey, days: float) -> datetime:
    assert key.expires_at is not None
    return key.expires_at - timedelta(days=days)


def write(at: datetime) -> None:
    warn_of_ending_keys(at)
    send_digests(at)
    deliver_pending()


def test_a_key_is_warned_of_at_14_and_at_3_days_once_each(ada: User) -> None:
    key = key_that_lives(ada, 90)

    told = [warn_of_ending_keys(days_before(key, days)) for days in (15, 14, 13.9, 4, 3, 2.9, 0.1, -1)]

    assert told == [0, 1, 0, 0, 1, 0, 0, 0]
    assert [alert.kind for alert in Alert.objects.order_by("pk")] == ["key_ends", "key_ends_soon"]


def test_after_a_long_pause_only_the_nearer_warning_is_said(ada: User) -> None:
    key = key_that_lives(ada, 90)

    warn_of_ending_keys(days_before(key, 2))

    assert [alert.kind for alert in Alert.objects.all()] == ["key_ends_soon"]


def test_nobody_is_warned_of_a_key_they_rotated_revoked_or_made_for_a_week(ada: User) -> None:
    rotated, revoked = key_that_lives(ada, 30), key_that_lives(ada, 30)
    revoke_key(rotate_key(rotated, overlap=timedelta(days=60)).key)
    revoke_key(revoked)
    week = key_that_lives(ada, 7)
    inactive = make_user(is_active=False)
    key_that_lives(inactive, 30)

    warned = [warn_of_ending_keys(days_before(rotated, 10)), warn_of_ending_keys(days_before(week, 5))]

    assert warned == [0, 0]


def test_a_key_made_for_a_week_is_warned_of_at_3_days(ada: User) -> None:
    week = key_that_lives(ada, 7)

    assert warn_of_ending_keys(days_before(week, 3)) == 1


def test_the_warning_is_new_on_the_page_of_notices_until_it_was_seen(client: Client, ada: User) -> None:
    key = key_that_lives(ada, 90)
    warn_of_ending_keys(days_before(key, 14))
    client.force_login(ada)

    page = client.get(reverse("notices"))
    client.post(reverse("notices-seen"))

    assert f"Your key “{key}” stops working on" in page.text
    assert not unseen_alerts(ada).exists()


def test_a_letter_is_written_at_14_and_at_3_days_and_never_twice(mail_server: None, ada: User) -> None:
    key = key_that_lives(ada, 90)

    for days in (14, 13.9, 12, 3, 2.9, 1):
        write(days_before(key, days))

    assert len(mail.outbox) == 2
    assert all(letter.to == ["ada@example.com"] and "stops working on" in letter.body for letter in mail.outbox)
    assert "your keys and sign-in" in mail.outbox[0].subject


def test_who_is_written_once_a_week_still_hears_of_the_last_three_days_at_once(mail_server: None, ada: User) -> None:
    subscribe(Actor.of(ada), frequency=Frequency.WEEKLY)
    early, late = key_that_lives(ada, 60), key_that_lives(ada, 61)

    write(days_before(early, 14))
    write(days_before(late, 14))  # a day later: this one waits for the week to end
    before = len(mail.outbox)
    write(days_before(early, 3))

    assert before == 1
    assert len(mail.outbox) == 2
    assert mail.outbox[1].body.count("stops working on") == 2


def test_who_wants_no_letters_gets_none_and_is_told_in_the_app(mail_server: None, ada: User) -> None:
    subscribe(Actor.of(ada), frequency=Frequency.NEVER)
    key = key_that_lives(ada, 90)

    write(days_before(key, 3))

    assert mail.outbox == []
    assert unseen_alerts(ada).count() == 1


def test_the_scheduler_may_run_it_as_often_as_it_likes(ada: User) -> None:
    ApiKey.objects.filter(pk=key_that_lives(ada, 2).pk).update(created_at=timezone.now() - timedelta(days=90))

    task()
    task()

    assert Alert.objects.count() == 1

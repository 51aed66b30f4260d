"""The page for one's own password."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.sign_in.attempts import TRIES
from tests.factories import make_user

OLD, NEW = "a horse, a battery, a staple", "seven quiet lighthouses"


@pytest.fixture(autouse=True)
def no_tries_yet() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def save(client: Client, new: str = NEW, again: str = NEW, **more: str) -> Any:
    return client.post(reverse("password"), {"new_password1": new, "new_password2": again, **more})


def test_somebody_who_signs_in_by_link_can_set_a_password(client: Client, db: None) -> None:
    ada = make_user("ada")
    client.force_login(ada)

    form = client.get(reverse("password"))
    page = save(client)

    assert "Set a password" in form.text
    assert "no-store" in form["Cache-Control"]
    assert page["Location"] == reverse("profile", args=["ada"])
    assert User.objects.get(pk=ada.pk).check_password(NEW)


def test_changing_a_password_needs_the_current_one(client: Client, db: None) -> None:
    ada = make_user("ada", password=OLD)
    client.force_login(ada)

    refused = save(client, old_password="a guess")
    accepted = save(client, old_password=OLD)

    assert refused.status_code == 422
    assert '<a href="#id_old_password">Current password:' in refused.text
    assert accepted.status_code == 302
    assert User.objects.get(pk=ada.pk).check_password(NEW)


def test_this_browser_stays_signed_in_and_others_do_not(client: Client, db: None) -> None:
    ada, elsewhere = make_user("ada", password=OLD), Client()
    client.force_login(ada)
    elsewhere.force_login(ada)

    save(client, old_password=OLD)

    assert client.get(reverse("keys")).status_code == 200
    assert elsewhere.get(reverse("keys")).status_code == 302


@pytest.mark.parametrize(
    ("new", "again", "told"),
    [
        ("short one", "short one", "at least 12 characters"),
        ("passwordpassword", "passwordpasswort", "match."),
        ("qwerty123456", "qwerty123456", "too common"),
        ("ada-lovelace", "ada-lovelace", "too similar"),
    ],
)
def test_a_weak_password_is_refused_in_words(client: Client, db: None, new: str, again: str, told: str) -> None:
    ada = make_user("ada-lovelace")
    client.force_login(ada)

    page = save(client, new, again)

    assert page.status_code == 422
    assert told in page.text
    assert not User.objects.get(pk=ada.pk).has_usable_password()


def test_nobody_can_guess_on_at_a_browser_that_was_left_open(client: Client, db: None) -> None:
    client.force_login(make_user("ada", password=OLD))
    for number in range(TRIES):
        save(client, old_password=f"guess {number}")

    page = save(client, old_password=OLD)

    assert page.status_code == 429
    assert int(page["Retry-After"]) > 0

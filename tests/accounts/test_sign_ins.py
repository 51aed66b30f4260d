"""Where somebody is signed in: they see it, and end it from elsewhere."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import SignIn, User
from accounts.sign_in import sign_ins
from accounts.sign_in.sign_ins import browser_in_words
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_cached")]

PASSWORD, NEW = "a horse, a battery, a staple", "seven quiet lighthouses"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"
EDGE = f"{CHROME} Edg/140.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1"


@pytest.fixture
def ada() -> User:
    return make_user("ada", password=PASSWORD)


def sign_in(user_agent: str = FIREFOX, address: str = "192.0.2.7", username: str = "ada") -> Client:
    client = Client(headers={"User-Agent": user_agent}, REMOTE_ADDR=address)
    client.post(reverse("sign-in"), {"username": username, "password": PASSWORD})
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("keys")).status_code == 200


def sign_in_of(client: Client) -> SignIn:
    return SignIn.objects.get(session_id=client.session.session_key)


def test_each_browser_is_listed_with_where_it_is_and_which_is_this_one(ada: User) -> None:
    here, _ = sign_in(), sign_in(CHROME, "192.0.2.8")

    page = here.get(reverse("sign-ins"))

    mine, other = sorted(page.text.split('<li class="item">')[1:], key=lambda item: "this one" not in item)
    assert "Firefox on Linux" in mine
    assert "192.0.2.7" in mine
    assert "Sign out</button>" not in mine
    assert "Chrome on Windows" in other
    assert "192.0.2.8" in other
    assert "Sign out</button>" in other


def test_one_browser_is_signed_out_from_another(ada: User) -> None:
    here, lost, third = sign_in(), sign_in(), sign_in()

    here.post(reverse("sign-in-end", args=[sign_in_of(lost).pk]))

    assert [is_signed_in(client) for client in (here, lost, third)] == [True, False, True]


def test_all_others_are_signed_out_at_once(ada: User) -> None:
    here, others = sign_in(), [sign_in(), sign_in()]

    page = here.post(reverse("sign-ins-end-elsewhere"), follow=True)

    assert "signed out in 2 other browsers" in page.text
    assert is_signed_in(here)
    assert not any(is_signed_in(client) for client in others)


def test_nobody_sees_or_ends_the_sign_ins_of_others(ada: User) -> None:
    make_user("eve", password=PASSWORD)
    hers, eve = sign_in(EDGE, "198.51.100.1"), sign_in(username="eve")

    listed = eve.get(reverse("sign-ins"))
    foreign = eve.post(f"/sign-ins/{sign_in_of(hers).pk}/end/")
    random = eve.post(reverse("sign-in-end", args=[10_000]))
    eve.post(reverse("sign-ins-end-elsewhere"))

    assert "198.51.100.1" not in listed.text
    assert (foreign.status_code, random.status_code) == (404, 404)
    assert is_signed_in(hers)


def test_a_new_password_signs_out_elsewhere_and_the_list_says_so(ada: User) -> None:
    here, elsewhere = sign_in(), sign_in(CHROME)
    said = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}

    here.post(reverse("password"), said)

    page = here.get(reverse("sign-ins"))
    assert "this one" in page.text
    assert "Chrome" not in page.text
    assert not is_signed_in(elsewhere)


def test_when_it_was_seen_last_moves_once_a_minute_and_since_stays(ada: User, monkeypatch: Any) -> None:
    here, then = sign_in(), timezone.now() - timedelta(hours=1)
    SignIn.objects.update(since=then, last_seen=then)

    here.get(reverse("keys"))
    within_the_minute = sign_in_of(here).last_seen
    monkeypatch.setattr(sign_ins, "SEEN_EVERY", timedelta(0))
    here.get(reverse("keys"))
    later = sign_in_of(here)

    assert within_the_minute == then
    assert later.last_seen > then
    assert later.since == then
    assert User.objects.get(pk=ada.pk).last_seen is not None


def test_a_page_that_asks_nobody_who_they_are_notes_nothing(ada: User, monkeypatch: Any) -> None:
    client = sign_in()
    SignIn.objects.all().delete()
    monkeypatch.setattr(sign_ins, "SEEN_EVERY", timedelta(0))

    client.get("/healthz")

    assert not SignIn.objects.exists()


def test_a_browser_may_call_itself_anything(ada: User) -> None:
    here = sign_in("<script>alert(1)</script>" + "x" * 1000)

    page = here.get(reverse("sign-ins"))

    assert page.status_code == 200
    assert "<script>alert" not in page.text


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        (CHROME, "Chrome on Windows"),
        (EDGE, "Edge on Windows"),
        (SAFARI, "Safari on iPhone"),
        ("curl/8.5.0", "curl"),
        ("", "A browser that does not say its name"),
    ],
)
def test_browsers_are_named_as_people_name_them(user_agent: str, name: str) -> None:
    assert browser_in_words(user_agent) == name

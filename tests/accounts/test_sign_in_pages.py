"""Signing in: by password, by a link that works once, and not at all after too many wrong tries."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import SignInLink, SignInTry, User
from accounts.sign_in.attempts import TRIES, TRIES_OF_AN_ADDRESS, WITHIN, count_try
from accounts.sign_in.links import make_sign_in_link
from bigmind.retention import delete_past_bounds
from tests.factories import make_user
from tests.lock_waits import at_once

PASSWORD = "a horse, a battery, a staple"
SIGN_IN = "/sign-in/"


@pytest.fixture(autouse=True)
def no_tries_yet() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def ada(db: None) -> User:
    return make_user("ada", password=PASSWORD)


def sign_in(client: Client, username: str = "ada", password: str = PASSWORD, **more: Any) -> Any:
    return client.post(SIGN_IN, {"username": username, "password": password, **more})


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def link_for(user: User) -> str:
    return reverse("sign-in-link", args=[make_sign_in_link(user)])


def test_a_wrong_password_is_told_in_words_and_the_user_name_stays(client: Client, ada: User) -> None:
    page = sign_in(client, password="wrong")

    assert page.status_code == 422
    assert "Wrong username or password" in page.text
    assert 'value="ada"' in page.text
    assert "wrong" not in page.text.partition("<form")[2].partition("</form>")[0]


def test_an_unknown_user_name_answers_like_a_wrong_password(client: Client, ada: User) -> None:
    unknown, wrong = sign_in(client, username="eve", password="wrong"), sign_in(Client(), password="wrong")

    assert unknown.status_code == wrong.status_code
    assert "Wrong username or password" in unknown.text


def test_somebody_without_a_password_cannot_sign_in_with_one(client: Client, db: None) -> None:
    make_user("linked")

    sign_in(client, username="linked", password="")
    sign_in(client, username="linked", password="!")

    assert not is_signed_in(client)


def test_somebody_who_was_deactivated_cannot_sign_in(client: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_active=False)
    link = link_for(ada)

    sign_in(client)
    page = client.post(link)

    assert not is_signed_in(client)
    assert page.status_code == 410


def test_an_empty_form_says_what_is_missing_with_a_link_to_the_field(client: Client, db: None) -> None:
    page = sign_in(client, username="", password="")

    assert page.status_code == 422
    assert '<a href="#id_username">User name: Type your user name.</a>' in page.text
    assert '<a href="#id_password">Password: Type your password.</a>' in page.text


def test_the_session_gets_another_id_when_somebody_signs_in(client: Client, ada: User) -> None:
    session = client.session
    session["planted"] = True
    session.save()
    before = session.session_key

    sign_in(client)

    assert client.session.session_key != before


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "http:///evil.example",
        "https:evil.example",
        " //evil.example",
        "http://testserver@evil.example/",
    ],
)
def test_nobody_is_sent_to_another_site(client: Client, ada: User, elsewhere: str) -> None:
    offered = client.get(SIGN_IN, {"next": elsewhere})
    page = sign_in(client, next=elsewhere)
    again = client.get(SIGN_IN, {"next": elsewhere})

    assert offered.context["next"] == again["Location"] == "/"
    assert page["Location"] == "/welcome/"


def test_after_ten_wrong_tries_even_the_right_password_has_to_wait(client: Client, ada: User) -> None:
    wrong = [sign_in(client, password=f"guess {number}").status_code for number in range(TRIES)]

    page = sign_in(client)

    assert wrong == [422] * TRIES
    assert page.status_code == 429
    assert 1 <= int(page["Retry-After"]) <= 15 * 60
    assert "Try again in 15 minutes" in page.text
    assert not is_signed_in(client)


def test_another_spelling_of_the_name_is_not_another_name(client: Client, ada: User) -> None:
    for spelling in ("ada", "ADA", "Ada", " ada ", "aDa"):
        sign_in(client, username=spelling, password="wrong")
        sign_in(client, username=spelling, password="wrong")

    page = sign_in(client)

    assert page.status_code == 429


def test_a_forged_address_does_not_help(client: Client, ada: User) -> None:
    for number in range(TRIES):
        client.post(
            SIGN_IN, {"username": "ada", "password": "wrong"}, headers={"X-Forwarded-For": f"198.51.100.{number}"}
        )

    page = client.post(SIGN_IN, {"username": "ada", "password": PASSWORD}, headers={"X-Forwarded-For": "198.51.100.77"})

    assert page.status_code == 429


def test_others_are_not_locked_out(client: Client, ada: User) -> None:
    make_user("grace", password=PASSWORD)
    for _ in range(TRIES + 1):
        sign_in(client, password="wrong")

    same_place = sign_in(client, username="grace")
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    sign_in(elsewhere)

    assert same_place.status_code == 302
    assert is_signed_in(elsewhere)


def test_the_right_password_begins_the_count_anew(client: Client, ada: User) -> None:
    for _ in range(TRIES - 1):
        sign_in(client, password="wrong")
    sign_in(client)

    page = sign_in(client, password="wrong")

    assert page.status_code == 422


def test_a_flood_of_other_names_does_not_make_the_tries_forgotten(client: Client, ada: User) -> None:
    for _ in range(TRIES):
        sign_in(client, password="wrong")
    cache.clear()  # as a process that starts anew, or one that had to make room

    page = sign_in(client)

    assert page.status_code == 429


def test_from_one_address_not_everybodys_name_can_be_tried(client: Client, ada: User) -> None:
    elsewhere = Client(REMOTE_ADDR="2001:db8::1")
    for number in range(TRIES_OF_AN_ADDRESS):
        count_try(f"user{number}", f"2001:db8::{number:x}")

    page = sign_in(elsewhere)
    sign_in(client)

    assert page.status_code == 429
    assert 1 <= int(page["Retry-After"]) <= 15 * 60
    assert is_signed_in(client)


def test_tries_count_for_a_quarter_of_an_hour_and_are_deleted_then(client: Client, ada: User) -> None:
    for _ in range(TRIES):
        sign_in(client, password="wrong")
    SignInTry.objects.update(at=timezone.now() - WITHIN)

    sign_in(client)
    delete_past_bounds()

    assert is_signed_in(client)
    assert not SignInTry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_many_tries_at_once_are_not_more_than_ten() -> None:
    make_user("ada", password=PASSWORD)

    def guess(number: int) -> int:
        try:
            return int(sign_in(Client(), password=f"guess {number}").status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        answers = sorted(threads.map(guess, range(3 * TRIES)))

    assert answers == [422] * TRIES + [429] * 2 * TRIES


def test_opening_a_link_asks_and_does_not_use_it_up(client: Client, ada: User) -> None:
    link = link_for(ada)

    pages = [client.get(link), client.head(link), client.get(link)]

    assert [page.status_code for page in pages] == [200, 200, 200]
    assert "Sign in as ada" in pages[0].text
    assert "no-store" in pages[0]["Cache-Control"]
    assert not is_signed_in(client)
    assert SignInLink.objects.get().used_at is None


def test_the_button_behind_a_link_signs_in_once(client: Client, ada: User) -> None:
    link = link_for(ada)

    first = client.post(link)
    second = Client().post(link)

    assert is_signed_in(client)
    assert first["Location"] == "/welcome/"
    assert second.status_code == 410
    assert "does not work any more" in second.text
    assert "bigmind sign_in_link" in second.text
    assert "make run" in second.text


@pytest.mark.django_db(transaction=True)
def test_of_two_clicks_at_once_only_one_signs_in() -> None:
    link = link_for(make_user("ada"))

    answers = at_once(lambda _: Client().post(link).status_code, range(2))

    assert sorted(answers) == [302, 410]


def test_an_expired_link_and_one_that_never_was_answer_alike(client: Client, ada: User) -> None:
    expired = link_for(ada)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    answers = {
        client.get(expired).status_code,
        client.post(expired).status_code,
        client.get("/sign-in/never-made/").status_code,
        client.post("/sign-in/never-made/").status_code,
    }

    assert answers == {410}
    assert not is_signed_in(client)


def test_a_newer_link_replaces_an_older_one(client: Client, ada: User) -> None:
    older, newer = link_for(ada), link_for(ada)

    assert client.get(older).status_code == 410
    assert client.get(newer).status_code == 200


def test_a_link_signs_in_its_own_user_where_another_was_signed_in(client: Client, ada: User) -> None:
    client.force_login(make_user("grace"))

    client.post(link_for(ada))

    assert client.session["_auth_user_id"] == str(ada.pk)


def test_signing_out_ends_the_session_and_is_told(client: Client, ada: User) -> None:
    client.force_login(ada)

    page = client.post(reverse("sign-out"), follow=True)

    assert not is_signed_in(client)
    assert "You are signed out" in page.text
    assert client.get(reverse("keys")).status_code == 302


def test_a_link_to_the_sign_out_address_signs_nobody_out(client: Client, ada: User) -> None:
    client.force_login(ada)

    page = client.get(reverse("sign-out"))

    assert page.status_code == 405
    assert is_signed_in(client)

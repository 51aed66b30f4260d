"""The pages of who is who, in Chromium: for everyone to use, without a script, and with nothing from elsewhere."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.actor import Actor
from accounts.authentication import authenticate_key
from accounts.keys import revoke_key, rotate_key
from accounts.models import ApiKey, Invitation, Role, User
from accounts.people.invitations import invite
from accounts.people.profiles import update_profile
from accounts.services.key_warnings import warn_of_ending_keys
from accounts.sign_in.attempts import TRIES, TRIES_OF_AN_ADDRESS, count_try
from accounts.sign_in.links import make_sign_in_link
from tests.accounts.codes import code_of, with_second_factor
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.factories import make_key, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nothing_cached")]

PASSWORD = "a horse, a battery, a staple"


@pytest.fixture
def ada() -> User:
    """An admin with a key in every state, two agents and a profile."""
    ada = make_user("ada", role=Role.ADMIN, display_name="Ada Lovelace", password=PASSWORD)
    for name in ("claude-code", "cursor-vscode"):
        new = make_key(ada, label=f"Laptop, {name}", scopes=["read", "write", "curate", "admin"])
        authenticate_key(new.text, client_name=name, client_version="2.4", host="atlas")
    rotate_key(new.key)
    make_key(ada, label="Reports", expires_at=timezone.now() + timedelta(days=2, hours=1), toolsets=["core", "notes"])
    make_key(ada, label="Backup", expires_at=timezone.now() + timedelta(days=10))
    revoke_key(make_key(ada, label="Old laptop").key)
    update_profile(Actor.of(ada), role="Analyst", preferences="Short answers.", pinned_facts=["Knows Babbage."])
    with_somebody_locked_out(ada)
    return ada


def with_somebody_locked_out(admin: User) -> None:
    grace = make_user("grace", display_name="Grace Hopper", role=Role.CURATOR, password=PASSWORD)
    key = make_key(grace, label="Cursor on cobol")
    authenticate_key(key.text, client_name="cursor-vscode", client_version="2.4", host="cobol")
    make_user("charles", is_active=False)
    for _ in range(TRIES):
        count_try("grace", "192.0.2.7")
    for number in range(TRIES_OF_AN_ADDRESS):
        count_try(f"guess{number}", "198.51.100.9")
    invite(Actor.of(admin), name="Katherine Johnson", email="katherine@example.com", role=Role.CURATOR)


def refused_key_form(page: Page) -> None:
    page.goto(reverse("key-create"))
    page.locator("main form").evaluate("form => form.noValidate = true")
    page.get_by_role("button", name="Make the key").click()
    expect(page.get_by_role("alert")).to_be_focused()


def key_just_made(page: Page) -> None:
    page.goto(f"{reverse('connect')}?client=cursor&toolsets=core&toolsets=memory")
    page.get_by_role("button", name="Create a key for Cursor").click()
    expect(page.get_by_role("heading", name="Your new key")).to_be_visible()


def key_after_it_was_shown(page: Page) -> None:
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_text("Waiting for the first call")).to_be_visible()


def going_to(name: str, query: str = "", *, of_key: str = "", of_user: str = "") -> Callable[[Page], None]:
    def go(page: Page) -> None:
        key = [ApiKey.objects.get(label=of_key).pk] if of_key else []
        page.goto(reverse(name, args=[*key, *([of_user] if of_user else [])]) + query)

    return go


def going_to_somebody(name: str) -> Callable[[Page], None]:
    def go(page: Page) -> None:
        page.goto(reverse(name, args=[User.objects.get(username="grace").pk]))

    return go


def second_factor_begun(page: Page) -> None:
    page.goto(reverse("second-factor"))
    page.get_by_role("link", name="Turn on").click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()


def second_factor_refused(page: Page) -> None:
    second_factor_begun(page)
    page.get_by_label("Code").fill("000000")
    page.get_by_label("Password").fill("guess")
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_role("alert")).to_be_focused()


def second_factor_made(page: Page) -> None:
    second_factor_begun(page)
    secret = page.get_by_label("Or type this secret", exact=True).inner_text()
    page.get_by_label("Code").fill(code_of(secret))
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your recovery codes")


def second_factor_kept(page: Page) -> None:
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_role("button", name="Remove it")).to_be_visible()


def notices_with_a_key_that_ends(page: Page) -> None:
    ApiKey.objects.update(created_at=timezone.now() - timedelta(days=90))
    warn_of_ending_keys()
    page.goto(reverse("notices"))
    expect(page.get_by_role("heading", name="Your keys and sign-in")).to_be_visible()


def password_reset(page: Page) -> None:
    going_to_somebody("person")(page)
    page.get_by_role("button", name="Reset the password").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The password of Grace Hopper is reset")


def refused_invitation(page: Page) -> None:
    page.goto(reverse("invite"))
    page.get_by_role("button", name="Create invitation").click()
    expect(page.get_by_role("alert")).to_be_focused()


def invitation_made(page: Page) -> None:
    page.goto(reverse("invite"))
    page.get_by_label("Name").fill("Katherine Johnson")
    page.get_by_role("button", name="Create invitation").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Katherine Johnson is invited")


def going_to_where_one_is_signed_in(page: Page) -> None:
    page.goto(reverse("keys"))
    page.goto(reverse("sign-ins"))
    expect(page.get_by_text("this one")).to_be_visible()


# In the order in which one person sees them: some leave something behind that others after them show.
PAGES: dict[str, Callable[[Page], None]] = {
    "keys": going_to("keys"),
    "keys that have ended": going_to("keys", "?show=ended"),
    "everyone's keys": going_to("keys", "?show=everyone"),
    "make a key": going_to("key-create"),
    "make a key, refused": refused_key_form,
    "rotate a key": going_to("key-rotate", of_key="Reports"),
    "revoke a key": going_to("key-revoke", of_key="Reports"),
    "a new key": key_just_made,
    "a key after it was shown": key_after_it_was_shown,
    "connect": going_to("connect"),
    "connect, one client open": going_to("connect", "?client=other&toolsets=all"),
    "profile": going_to("profile", of_user="ada"),
    "password": going_to("password"),
    "second factor, none": going_to("second-factor"),
    "second factor, setting up": second_factor_begun,
    "second factor, refused": second_factor_refused,
    "recovery codes": second_factor_made,
    "second factor": second_factor_kept,
    "notices about keys": notices_with_a_key_that_ends,
    "people": going_to("people"),
    "somebody, for an admin": going_to_somebody("person"),
    "deleting somebody": going_to_somebody("person-delete"),
    "a password that was reset": password_reset,
    "invite somebody": going_to("invite"),
    "invite somebody, refused": refused_invitation,
    "an invitation": invitation_made,
    "where one is signed in": going_to_where_one_is_signed_in,
}


def test_everyone_can_use_each_page(visits: Visits, ada: User) -> None:
    page, found = visits.by(ada), []

    for name, open_page in PAGES.items():
        open_page(page)
        found += [f"{name}: {finding}" for finding in findings(page)]

    assert found == []


def test_everyone_can_sign_in(visits: Visits, ada: User) -> None:
    page = visits.by(None)
    page.goto(reverse("sign-in"))
    found = findings(page)

    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("alert")).to_contain_text("Wrong username or password")
    assert found + findings(page) == []


@pytest.fixture
def with_provider(settings: Any) -> None:
    """A BigMind with a provider, whose page is not visited here."""
    settings.OIDC_ISSUER, settings.OIDC_NAME = "http://localhost:1", "Example Inc."


@pytest.mark.parametrize("only_for", ["", "ada"])
def test_everyone_can_use_the_sign_in_with_a_provider(
    visits: Visits, ada: User, with_provider: None, settings: Any, only_for: str
) -> None:
    settings.PASSWORDS_ONLY_FOR = only_for
    page = visits.by(None)
    page.goto(reverse("sign-in"))
    found = findings(page)

    page.get_by_role("link", name="Sign in with Example Inc.").click()

    expect(page.get_by_role("alert")).to_contain_text("Example Inc. does not answer as it should")
    assert found + findings(page) == []


def test_everyone_can_use_an_invitation_where_passwords_are_off(
    visits: Visits, ada: User, with_provider: None, settings: Any
) -> None:
    settings.PASSWORDS_ONLY_FOR = "ada"
    page = visits.by(None)
    page.goto(urlsplit(invite(Actor.of(ada), email="mary@example.com").url).path)

    expect(page.get_by_role("link", name="Sign in with Example Inc.")).to_be_visible()
    assert findings(page) == []


def test_everyone_can_give_the_code_without_a_script(visits: Visits, ada: User) -> None:
    enrolment, _ = with_second_factor(ada)
    page = visits.by(None, javascript=False)
    page.goto(f"{reverse('sign-in')}?next={reverse('keys')}")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("One more step")

    page.get_by_label("Code").fill(code_of(enrolment.secret))
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Keys")


def test_everyone_can_use_the_page_that_asks_for_the_code(visits: Visits, ada: User) -> None:
    with_second_factor(ada)
    page = visits.by(None)
    page.goto(reverse("sign-in"))
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    found = findings(page)

    page.get_by_label("Code").fill("000000")
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("alert")).to_be_focused()
    assert found + findings(page) == []


def test_everyone_can_use_a_link(visits: Visits) -> None:
    page = visits.by(None)
    link = reverse("sign-in-link", args=[make_sign_in_link(make_user("grace"))])
    page.goto(link)
    found = findings(page)

    page.get_by_role("button", name="Sign in as grace").click()
    page.wait_for_url("**/")
    page.context.clear_cookies()
    page.goto(link)

    expect(page.get_by_role("heading", level=1)).to_have_text("This link does not work any more")
    assert found + findings(page) == []


def test_everyone_can_join_by_invitation_without_a_script(visits: Visits, ada: User) -> None:
    new = invite(Actor.of(ada), name="Mary Somerville")
    page = visits.by(None, javascript=False)
    page.goto(urlsplit(new.url).path)

    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password again").fill(PASSWORD)
    page.get_by_role("button", name="Join").click()

    expect(page.locator(".message")).to_contain_text("Welcome, Mary Somerville.")
    assert User.objects.get(username="mary-somerville").check_password(PASSWORD)


def test_everyone_can_use_an_invitation_and_see_that_it_is_used_up(visits: Visits, ada: User) -> None:
    new = invite(Actor.of(ada), name="Mary Somerville")
    page = visits.by(None)
    page.goto(urlsplit(new.url).path)
    found = findings(page)
    page.get_by_role("button", name="Join").evaluate("button => button.form.noValidate = true")
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("alert")).to_be_focused()
    found += findings(page)

    Invitation.objects.update(revoked_at=timezone.now())
    page.goto(urlsplit(new.url).path)

    expect(page.get_by_role("heading", level=1)).to_have_text("This invitation does not work any more")
    assert found + findings(page) == []


def test_somebody_who_is_locked_out_is_let_in_again(visits: Visits, ada: User) -> None:
    page = visits.by(ada, javascript=False)
    page.goto(reverse("people"))
    page.get_by_role("link", name="Grace Hopper").click()

    page.get_by_role("button", name="Let them try again").click()

    expect(page.get_by_role("status")).to_contain_text("may try to sign in again")
    expect(page.get_by_role("heading", name="Locked out")).to_have_count(0)


def test_a_key_is_made_copied_and_rotated_without_a_script(visits: Visits, ada: User) -> None:
    page = visits.by(ada, javascript=False)

    key_just_made(page)
    first = page.get_by_label("Cursor", exact=True).inner_text()
    page.get_by_role("link", name="Done").click()
    page.get_by_role("link", name="Rotate it").click()
    page.get_by_label("stops working at once").check()
    page.get_by_role("button", name="Make the new key").click()
    second = page.get_by_label("Cursor", exact=True).inner_text()

    assert first.startswith("bm_")
    assert second.startswith("bm_")
    assert first != second
    assert authenticate_key(second).user == ada


def test_the_back_button_does_not_bring_a_key_back(visits: Visits, ada: User) -> None:
    page = visits.by(ada)
    key_just_made(page)
    page.goto(reverse("keys"))

    page.go_back()

    expect(page.get_by_text("was shown once and cannot be shown again")).to_be_visible()


def test_the_wanted_page_opens_after_signing_in_from_the_keyboard(visits: Visits, ada: User) -> None:
    page = visits.by(None)
    page.goto(reverse("keys"))

    page.get_by_label("User name").focus()
    page.keyboard.type("ada")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Keys")

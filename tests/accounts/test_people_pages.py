"""The pages of admins about people: roles, doors, lock-outs, forgotten passwords, and leaving."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.authentication import BadKey, authenticate_key
from accounts.models import Invitation, Role, SignInTry, User
from accounts.people.users import role_matrix
from accounts.sign_in.attempts import TRIES_OF_AN_ADDRESS, count_try
from knowledge.memory.facts import store_fact
from knowledge.models import Fact
from tests.factories import browser_of, make_actor, make_key, make_user, rest_for_an_hour

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_cached")]

PASSWORD = "a horse, a battery, a staple"


@pytest.fixture
def root() -> User:
    return make_user("root", role=Role.ADMIN)


@pytest.fixture
def ada() -> User:
    return make_user("ada", display_name="Ada Lovelace", password=PASSWORD)


@pytest.fixture
def browser(root: User) -> Client:
    return browser_of(root)


def act(browser: Client, route: str, person: User, **said: str) -> Any:
    return browser.post(reverse(route, args=[person.pk]), said, follow=True)


def sign_in(username: str = "ada") -> Client:
    client = Client()
    client.post(reverse("sign-in"), {"username": username, "password": PASSWORD})
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("keys")).status_code == 200


def test_the_matrix_of_roles_says_what_is_enforced(browser: Client) -> None:
    rights = {right.scope: dict(zip(Role.values, right.allowed, strict=True)) for right in role_matrix()}

    page = browser.get(reverse("people"))

    for role in Role.values:
        scopes = make_actor(make_user(role=role)).scopes
        assert {scope for scope, allowed in rights.items() if allowed[role]} == scopes
    assert all(str(right.action) in page.text for right in role_matrix())


def test_a_role_is_given_from_the_next_request_on(browser: Client, ada: User) -> None:
    page = act(browser, "person-role", ada, role="curator")

    assert "Ada Lovelace is curator now." in page.text
    assert User.objects.get(pk=ada.pk).role == Role.CURATOR


def test_a_role_that_does_not_exist_is_refused_beside_its_field(browser: Client, ada: User) -> None:
    page = act(browser, "person-role", ada, role="emperor")

    assert page.status_code == 422
    assert "Select a valid choice" in page.text


@pytest.mark.parametrize(("route", "said"), [("person-role", {"role": "member"}), ("person-deactivate", {})])
def test_the_last_admin_stays(browser: Client, root: User, route: str, said: dict[str, str]) -> None:
    page = act(browser, route, root, **said)

    root.refresh_from_db()
    assert "is the last admin" in page.text
    assert (root.role, root.is_active) == (Role.ADMIN, True)


def test_the_last_admin_cannot_be_deleted_and_is_told_before_they_type(browser: Client, root: User, ada: User) -> None:
    preview = browser.get(reverse("person-delete", args=[root.pk]))
    page = act(browser, "person-delete", root, username="root")

    assert "is the last admin" in preview.text
    assert "is the last admin" in page.text
    assert User.objects.filter(pk=root.pk).exists()


def test_deactivating_closes_every_door_and_activating_opens_them(browser: Client, ada: User) -> None:
    key, elsewhere = make_key(ada), sign_in()

    act(browser, "person-deactivate", ada)

    with pytest.raises(BadKey):
        authenticate_key(key.text)
    assert not is_signed_in(elsewhere)
    assert not is_signed_in(sign_in())

    act(browser, "person-activate", ada)

    assert authenticate_key(key.text).user == ada
    assert is_signed_in(sign_in())
    assert not is_signed_in(elsewhere)


def test_a_reset_takes_the_password_and_leads_to_a_new_one(browser: Client, ada: User, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    elsewhere = sign_in()

    page = act(browser, "person-password", ada)
    link = page.text.partition("/sign-in/")[2].partition("/")[0]
    fresh = Client()
    led = fresh.post(reverse("sign-in-link", args=[link]), follow=True)

    assert "no-store" in page["Cache-Control"]
    assert not is_signed_in(elsewhere)
    assert not is_signed_in(sign_in())
    assert led.request["PATH_INFO"] == reverse("password")
    assert "Set a password" in led.text


@pytest.mark.parametrize(
    "route", ["person-role", "person-activate", "person-password", "person-second-factor", "person-delete", "invite"]
)
def test_what_opens_an_account_is_confirmed_by_an_admin_who_has_long_been_signed_in(ada: User, route: str) -> None:
    browser = browser_of(make_user("root", role=Role.ADMIN, password=PASSWORD))
    rest_for_an_hour(browser)
    told = {"role": "admin", "username": "ada"}

    asked = browser.post(reverse(route, args=[ada.pk] if route != "invite" else []), told)

    assert asked["Location"].startswith(reverse("confirm"))
    ada.refresh_from_db()
    assert (ada.role, ada.has_usable_password()) == (Role.MEMBER, True)
    assert not Invitation.objects.exists()


def test_the_django_admin_asks_for_that_as_well(ada: User) -> None:
    browser = browser_of(make_user("root", role=Role.ADMIN, password=PASSWORD))
    change = reverse("admin:accounts_user_change", args=[ada.pk])
    told = {"username": "ada", "role": "admin", "is_active": "on"}
    rest_for_an_hour(browser)

    assert browser.get(change).status_code == 200
    assert browser.post(change, told)["Location"].startswith(reverse("confirm"))
    ada.refresh_from_db()
    assert ada.role == Role.MEMBER
    browser.post(reverse("confirm"), {"password": PASSWORD, "next": change})
    browser.post(change, told)
    ada.refresh_from_db()
    assert ada.role == Role.ADMIN


def test_somebody_who_is_deactivated_gets_no_link(browser: Client, ada: User) -> None:
    act(browser, "person-deactivate", ada)

    page = act(browser, "person-password", ada)

    assert "Activate them first." in page.text
    assert User.objects.get(pk=ada.pk).has_usable_password()


def test_signing_somebody_out_leaves_their_keys(browser: Client, ada: User) -> None:
    key, elsewhere = make_key(ada), sign_in()

    page = act(browser, "person-sign-out", ada)

    assert "signed out in 1 browser." in page.text
    assert not is_signed_in(elsewhere)
    assert authenticate_key(key.text).user == ada


def test_what_cannot_be_an_address_is_refused(browser: Client) -> None:
    assert browser.post(reverse("address-unlock"), {"address": "\0"}).status_code == 422


def test_an_address_that_is_locked_out_is_seen_and_let_in(browser: Client, ada: User) -> None:
    for number in range(TRIES_OF_AN_ADDRESS):
        count_try(f"guess{number}", "192.0.2.7")
    count_try("somebody", "192.0.2.8")

    listed = browser.get(reverse("people"))
    browser.post(reverse("address-unlock"), {"address": "192.0.2.7"})

    assert "Let them try again: 192.0.2.7" in listed.text
    assert "192.0.2.8" not in listed.text
    assert set(SignInTry.objects.values_list("address", flat=True)) == {"192.0.2.8"}


def test_what_goes_is_counted_before_it_does(browser: Client, ada: User) -> None:
    store_fact(make_actor(ada), category="identity", fact="Is called Ada.")
    make_key(ada)

    preview = browser.get(reverse("person-delete", args=[ada.pk]))

    assert "<li>1 fact</li>" in preview.text
    assert "<li>1 API key</li>" in preview.text
    assert "Nothing: they gave nothing to the company yet." not in preview.text
    assert "audit event" in preview.text.partition("This stays, without their name")[2]
    assert f"memory_export --user {ada.pk}" in preview.text
    assert Fact.objects.filter(user=ada).exists()


def test_somebody_is_deleted_when_their_name_is_repeated(browser: Client, ada: User) -> None:
    wrong = act(browser, "person-delete", ada, username="Ada Lovelace")
    still_there = User.objects.filter(pk=ada.pk).exists()
    right = act(browser, "person-delete", ada, username="ada")

    assert wrong.status_code == 422
    assert "Must be ada, exactly" in wrong.text
    assert still_there
    assert "Ada Lovelace is deleted" in right.text
    assert not User.objects.filter(pk=ada.pk).exists()


def test_somebody_who_is_gone_answers_404(browser: Client, ada: User) -> None:
    address = reverse("person", args=[ada.pk])
    ada.delete()

    assert browser.get(address).status_code == 404

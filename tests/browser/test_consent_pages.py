"""Letting an app in, in Chromium: for everyone to use, without a script, and with the strict policy of every page."""

from urllib.parse import urlencode

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.actor import Actor
from accounts.models import ApiKey, AppToken, ConnectedApp, Role, User
from accounts.oauth.app_tokens import let_in, oauth_address
from accounts.oauth.connected_apps import introduce_app
from accounts.oauth.consent import ConsentRequest, seal
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "a horse, a battery, a staple"
STATE = "What it knows its own request by"


@pytest.fixture
def ada() -> User:
    return make_user("ada", role=Role.CURATOR, display_name="Ada Lovelace", password=PASSWORD)


def introduced(back: str, name: str = "Ada’s chat on the web") -> ConnectedApp:
    return introduce_app("c1", name=name, redirect_uris=[back], address="192.0.2.8")


def consent_page(app: ConnectedApp, scopes: tuple[str, ...] = ("read", "write")) -> str:
    back = app.redirect_uris[0]
    asked = ConsentRequest(app.client_id, back, True, STATE, "c" * 43, scopes, oauth_address())
    return f"{reverse('consent')}?{urlencode({'request': seal(asked)})}"


def back_at(visits: Visits) -> str:
    """Where the app waits: a page that answers whatever it is told."""
    return f"{visits.url}/healthz"


def test_everyone_can_use_the_question(visits: Visits, ada: User) -> None:
    page = visits.by(ada)

    page.goto(consent_page(introduced("https://chat.example/back"), ("read", "write", "curate", "admin")))

    expect(page.get_by_text("chat.example", exact=True)).to_be_visible()
    assert findings(page) == []


def test_everyone_can_use_a_question_that_leaves_nothing_to_permit(visits: Visits, ada: User) -> None:
    page = visits.by(ada)

    page.goto(consent_page(introduced("https://chat.example/back", "W" * 200), ("admin",)))

    expect(page.get_by_role("button", name="Let it in")).to_have_count(0)
    assert findings(page) == []


def test_everyone_can_use_the_page_that_leads_back(visits: Visits, ada: User) -> None:
    page = visits.by(ada)
    page.goto(consent_page(introduced("adas-chat://back")))

    page.get_by_role("button", name="Refuse").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("The app is refused")
    link = page.get_by_role("link", name="Go back to the app").get_attribute("href")
    assert findings(page) == []
    assert visits.wrongs == [f"external request: {link}"]
    visits.wrongs.clear()  # It was meant: a program on the person's machine takes over.


def test_everyone_can_use_a_question_that_is_too_old(visits: Visits, ada: User) -> None:
    page = visits.by(ada)

    page.goto(f"{reverse('consent')}?request=old")

    expect(page.get_by_role("heading", level=1)).to_have_text("This request does not work any more")
    assert findings(page) == []


def test_somebody_signs_in_permits_less_and_is_led_back_without_a_script(visits: Visits, ada: User) -> None:
    page = visits.by(None, javascript=False)
    page.goto(consent_page(introduced(back_at(visits)), ("read", "write", "curate")))
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()

    page.get_by_label("curate: decide").uncheck()
    page.get_by_role("button", name="Let it in").click()
    page.wait_for_url("**/healthz?code=bmc_*")

    assert ApiKey.objects.get(user=ada).scopes == ["read", "write"]
    assert AppToken.objects.get().redirect_uri == back_at(visits)


def test_who_ticks_nothing_is_told_so(visits: Visits, ada: User) -> None:
    page = visits.by(ada)
    page.goto(consent_page(introduced("https://chat.example/back")))
    for scope in ("read: recall", "write: remember"):
        page.get_by_label(scope).uncheck()

    page.get_by_role("button", name="Let it in").click()

    expect(page.get_by_role("alert")).to_contain_text("Tick at least one, or refuse.")
    assert not ApiKey.objects.exists()


def with_a_connected_app(user: User) -> None:
    app = introduced("https://chat.example/back")
    let_in(Actor.of(user), app, scopes=["read"], challenge="c" * 43, redirect_uri="", resource=oauth_address())


def connected_apps(page: Page) -> None:
    page.goto(f"{reverse('keys')}?show=apps")


def test_everyone_can_use_the_list_of_connected_apps(visits: Visits, ada: User) -> None:
    page = visits.by(ada)
    connected_apps(page)
    found = findings(page)
    with_a_connected_app(ada)

    connected_apps(page)

    expect(page.get_by_role("rowheader")).to_contain_text("chat.example")
    assert found + findings(page) == []


def test_a_connected_app_is_ended_without_a_script(visits: Visits, ada: User) -> None:
    with_a_connected_app(ada)
    page = visits.by(ada, javascript=False)
    connected_apps(page)

    page.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke the app").click()

    expect(page.get_by_role("status")).to_contain_text("is revoked and opens nothing any more")
    assert ApiKey.objects.get(user=ada).state == "revoked"

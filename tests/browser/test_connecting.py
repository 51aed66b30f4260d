"""Connecting an agent, in Chromium: one client at a time, and the mark that turns green with the first call."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.authentication import authenticate_key
from accounts.models import ApiKey, User
from accounts.services.agents import note_listing
from tests.browser.axe import findings
from tests.browser.conftest import Visits, Windows
from tests.factories import make_agent, make_user
from tests.knowledge.factories import make_fact
from tests.serving import Served
from tests.transports.mcp_wire import Wire

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def visits_served(windows: Windows, served: Served) -> Iterator[Visits]:
    """Visits to the server that agents call."""
    visits = Visits(windows, served.url)
    yield visits
    visits.close()
    assert visits.wrongs == []


def make_key_for_cursor(page: Page) -> str:
    page.goto(f"{reverse('connect')}?client=cursor")
    page.get_by_role("button", name="Create a key for Cursor").click()
    return page.get_by_label("Cursor", exact=True).inner_text()


def before(page: Page) -> None:
    page.goto(reverse("connect"))


def waiting(page: Page) -> None:
    make_key_for_cursor(page)


def connected(page: Page) -> None:
    text = make_key_for_cursor(page)
    authenticate_key(text, client_name="cursor", client_version="2.4", host="atlas")
    note_listing(ApiKey.objects.get(), 14)
    expect(page.get_by_text("connected ✓")).to_be_visible()


@pytest.mark.parametrize("open_page", [before, waiting, connected])
def test_everyone_can_use_the_page(visits: Visits, ada: User, open_page: Callable[[Page], None]) -> None:
    page = visits.by(ada)

    open_page(page)

    assert findings(page) == []


def test_one_client_is_open_at_a_time(visits: Visits, ada: User) -> None:
    page = visits.by(ada)
    page.goto(reverse("connect"))
    command = page.get_by_text("bigmind connect codex")
    expect(command).to_be_hidden()

    page.get_by_text("Codex", exact=True).first.focus()
    page.keyboard.press("Enter")

    expect(command).to_be_visible()
    expect(page.get_by_text("bigmind connect claude-code")).to_be_hidden()


def test_the_mark_turns_green_with_the_first_call(visits_served: Visits, served: Served, ada: User) -> None:
    page = visits_served.by(ada)
    text = make_key_for_cursor(page)
    expect(page.get_by_text("Waiting for the first call with this key")).to_be_visible()

    tools = Wire(served, text).send("tools/list").json()["result"]["tools"]
    Wire(served, text).call("memory_start_session")

    expect(page.get_by_text("connected ✓")).to_be_visible()
    expect(page.get_by_text(f"It was shown {len(tools)} tools.")).to_be_visible()
    expect(page.get_by_text("It called memory_start_session.")).to_be_visible()
    expect(page.get_by_label("Cursor", exact=True)).to_have_text(text)
    page.get_by_role("link", name="import your existing memory files").click()
    expect(page).to_have_url(f"{served.url}{reverse('memory-import')}")


def test_without_a_script_the_page_is_loaded_again(visits_served: Visits, served: Served, ada: User) -> None:
    page = visits_served.by(ada, javascript=False)
    text = make_key_for_cursor(page)

    Wire(served, text).send("tools/list")
    page.get_by_role("link", name="Done").click()

    expect(page.get_by_text("connected ✓")).to_be_visible()
    expect(page.get_by_text("import your existing memory files")).to_be_visible()


def test_a_newcomer_walks_from_a_name_to_the_first_memory(visits: Visits, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    newcomer = make_user("nia")
    page = visits.by(newcomer)
    page.goto(reverse("welcome"))
    assert findings(page) == []

    page.get_by_role("textbox", name="Your name").fill("Nia Adler")
    page.get_by_role("button", name="Save the name").click()
    page.get_by_role("button", name="Cursor").click()
    text = page.get_by_label("Cursor", exact=True).inner_text()
    authenticate_key(text, client_name="cursor", client_version="2.4", host="atlas")
    agent = make_agent(newcomer, "cursor", host="atlas")
    page.get_by_role("link", name="Copied: on to the next step").click()
    expect(page).to_have_url(re.compile(r"/welcome/#arrived$"))
    expect(page.get_by_text("Waiting for the first memory")).to_be_visible()
    make_fact(agent, "I prefer small pull requests.")
    expect(page.get_by_text("Remembered: I prefer small pull requests.")).to_be_visible()

    page.get_by_role("checkbox", name="Topics").uncheck()
    page.get_by_role("button", name="Update the preview").click()
    expect(page.get_by_role("heading", name="Nia Adler")).to_be_visible()
    assert findings(page) == []
    page.get_by_role("button", name="Not now").click()
    page.get_by_role("button", name="Go to Home").click()
    expect(page).to_have_url(re.compile(r"/$"))
    expect(page.get_by_text("First steps")).to_be_hidden()

"""Finding anything from any page: pages and commands at once, knowledge and people as one types, all by keyboard."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from knowledge.indexing.embedding import embed_pending
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.factories import make_actor
from tests.knowledge.factories import make_fact

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WAY = "Find or jump to"


def test_a_page_a_command_and_a_fact_are_reached_by_keyboard(visits: Visits) -> None:
    ada = make_actor()
    fact = make_fact(ada, "The ledger listens on port 6380.")
    embed_pending()
    page = visits.by(ada.user)
    page.goto(reverse("keys"))

    page.keyboard.press("/")
    page.keyboard.type("direc")
    expect(page.get_by_role("option", name="Directory")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{reverse('directory')}")

    page.keyboard.press("Control+k")
    page.keyboard.type("add a fact")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{reverse('memory-fact-new')}")

    page.keyboard.press("Control+k")
    page.keyboard.type("ledger port")
    expect(page.get_by_role("group", name="Knowledge").get_by_role("option").first).to_contain_text("6380")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{reverse('memory-fact', args=[fact.number])}")


def test_it_is_usable_by_everyone_and_leaves_typing_alone(visits: Visits) -> None:
    page = visits.by(make_actor().user)
    page.goto(reverse("memory-fact-new"))

    page.get_by_label("Fact", exact=True).press("/")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_label("Fact", exact=True)).to_have_value("/")

    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name=WAY)).to_be_focused()
    assert findings(page) == []

    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name=WAY)).to_have_count(0)


def test_without_a_script_the_same_place_leads_to_the_search(visits: Visits) -> None:
    page = visits.by(make_actor().user, javascript=False)
    page.goto(reverse("keys"))

    page.get_by_role("link", name="Search").click()

    expect(page).to_have_url(re.compile(r"/#id_query$"))
    expect(page.locator("#id_query")).to_be_visible()


def test_lists_are_walked_and_the_shortcuts_shown_from_any_page(visits: Visits) -> None:
    ada = make_actor()
    facts = [make_fact(ada, text) for text in ("Deploys go out on Tuesdays.", "Lunch is at noon.")]
    page = visits.by(ada.user)
    page.goto(reverse("memory-facts"))

    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert findings(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    for key in "jjk":
        page.keyboard.press(key)
    expect(page.get_by_role("link", name="Lunch is at noon.", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{reverse('memory-fact', args=[facts[1].number])}")

    # What was opened last comes first, in any tab of this browser; “>” leaves the commands alone.
    page.goto(reverse("keys"))
    page.keyboard.press("/")
    recent = page.get_by_role("group", name="Recent").get_by_role("option")
    expect(recent.nth(1)).to_have_text("Facts")
    page.keyboard.type(">add a note")
    expect(page.get_by_role("option")).to_have_text(["Add a note"])
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name=WAY)).to_have_count(0)

    page.keyboard.press("?")
    with page.expect_navigation():
        page.get_by_role("button", name="Turn shortcuts off").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    with page.expect_navigation():
        page.get_by_role("button", name="Turn keyboard shortcuts on").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()

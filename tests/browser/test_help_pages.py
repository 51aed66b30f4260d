"""Help and the pages of the API in a browser: readable for everyone, and one click away from any page."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.factories import make_actor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_help_is_one_click_away_and_everyone_can_read_it(visits: Visits) -> None:
    page = visits.by(make_actor().user)
    found = []

    page.goto(reverse("memory-facts"))
    page.get_by_role("link", name="Help on this page").click()
    page.wait_for_url("**/help/pages/#memory")
    expect(page.get_by_role("heading", name="Memory", exact=True)).to_be_in_viewport()
    found += findings(page)

    page.get_by_label("Words, a setting").fill("Fact 12 has been set aside already.")
    page.keyboard.press("Enter")
    expect(page.locator(".item").first).to_contain_text("has been set aside")
    found += findings(page)

    for address in ("/help/", "/help/troubleshooting/", "/api/", "/api/toolsets/core/"):
        page.goto(address)
        found += findings(page)

    assert found == []


def test_an_operation_is_found_and_read(visits: Visits) -> None:
    page = visits.by(make_actor().user)
    found = []

    page.goto(reverse("api-docs"))
    page.get_by_label("A name, a path").fill("store a fact")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="memory_store_fact").click()
    page.get_by_text("JavaScript", exact=True).first.click()
    expect(page.get_by_text("await fetch(")).to_be_visible()
    found += findings(page)

    assert found == []

"""What was being written outlives a session that ends, a form that is refused, and a lost connection."""

from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import Role, User
from tests.browser.conftest import Visits
from tests.curation.factories import propose
from tests.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "a long enough password of hers"
TEXT = "The ledger is closed on the fifth working day."


@pytest.fixture
def cora(settings: Any) -> User:
    settings.BIGMIND_MODE = "team"
    cora = make_user("cora", role=Role.CURATOR)
    cora.set_password(PASSWORD)
    cora.save()
    return cora


def sign_in(page: Page) -> None:
    page.get_by_label("User name").fill("cora")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    if page.get_by_role("button", name="Not now").count():
        page.get_by_role("button", name="Not now").click()


def form_with(page: Page, form: str) -> Any:
    if form == "curation":
        entry = propose(title="The ledger is closed", content="The ledger is closed once a month.")
        page.goto(reverse("curation-entry", args=[entry.pk]))
        page.get_by_text("Edit and approve", exact=True).click()
        return page.locator("form#edit textarea").first
    routes = {"fact": "memory-fact-new", "proposal": "company-propose", "profile": "memory-profile"}
    page.goto(reverse(routes[form]))
    return page.locator("main form[method=post] textarea").first


@pytest.mark.parametrize("form", ["fact", "proposal", "profile", "curation"])
def test_a_session_that_ends_costs_no_text(visits: Visits, cora: User, form: str) -> None:
    page = visits.by(cora)
    field = form_with(page, form)
    where = page.url
    field.fill(TEXT)
    Session.objects.all().delete()

    field.evaluate("field => field.form.requestSubmit()")
    sign_in(page)

    expect(page).to_have_url(where)
    expect(page.get_by_text("Your unsent text is back.")).to_be_visible()
    expect(field).to_have_value(TEXT)


def test_a_form_that_is_refused_leads_back_to_its_text(visits: Visits, cora: User) -> None:
    page = visits.by(cora)
    field = form_with(page, "fact")
    field.fill(TEXT)
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)

    field.evaluate("field => field.form.requestSubmit()")
    page.get_by_role("link", name="Back to your form").click()

    expect(field).to_have_value(TEXT)


def test_without_a_connection_nothing_is_sent_and_nothing_lost(visits: Visits, cora: User) -> None:
    page = visits.by(cora)
    field = form_with(page, "fact")
    field.fill(TEXT)
    page.context.set_offline(True)

    field.evaluate("field => field.form.requestSubmit()")
    expect(page.get_by_text("You are offline.")).to_be_visible()
    page.context.set_offline(False)
    page.reload()

    expect(field).to_have_value(TEXT)


def test_what_was_stored_is_not_offered_again(visits: Visits, cora: User) -> None:
    page = visits.by(cora)
    form_with(page, "fact").fill(TEXT)
    page.get_by_role("main").locator("form[method=post] .button[data-kind=primary]").click()
    page.wait_for_url(lambda url: "new" not in url)

    assert form_with(page, "fact").input_value() == ""


def test_a_draft_is_shown_to_nobody_else(visits: Visits, cora: User) -> None:
    page = visits.by(cora)
    form_with(page, "fact").fill(TEXT)
    make_user("dora", password=PASSWORD)
    page.context.clear_cookies()
    page.goto(reverse("memory-fact-new"))
    page.get_by_label("User name").fill("dora")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    if page.get_by_role("button", name="Not now").count():
        page.get_by_role("button", name="Not now").click()

    assert form_with(page, "fact").input_value() == ""

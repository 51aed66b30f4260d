"""The pages of a laptop and its company in a browser: the connection, a copy, and the directory with an instance."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from accounts.models import Role
from bigmind.environment.profile_sections import ProfileSection
from curation.proposals.proposals import promote_to_global
from curation.upstream.synchronization import sync_now
from knowledge.models import CompanyCopy
from knowledge.people.instances import register_instance
from knowledge.people.people_index import change_sharing
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.curation.company import Company, answering
from tests.factories import make_actor, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def company(settings: Any) -> Iterator[Company]:
    """A company server, and a laptop that is connected to it."""
    with answering(Company()) as company:
        settings.BIGMIND_MODE = "personal"
        settings.COMPANY_URL, settings.COMPANY_KEY = company.url, "bm_" + "k" * 38
        yield company


def test_the_pages_of_a_connected_laptop_are_usable_by_everyone(visits: Visits, company: Company) -> None:
    ada = make_actor(make_user("ada", role=Role.ADMIN))
    company.approve(title="Deploys", content="Deploys go blue-green.")
    sent = promote_to_global(ada, category="standard", content="Answer /healthz.").entry
    promote_to_global(ada, category="standard", content="Mine alone.", keep_here=True)
    sync_now()
    company.is_away = True
    sync_now()
    copy = CompanyCopy.objects.get().entry
    page = visits.by(ada.user)

    addresses = [
        reverse("company-server"),
        reverse("company"),
        reverse("company-entry", args=[copy.pk]),
        reverse("company-entry", args=[sent.pk]),
        reverse("company-mine"),
    ]
    found = [finding for address in addresses if page.goto(address) for finding in findings(page)]

    assert found == []


def test_without_a_company_the_page_says_that_nothing_leaves_the_machine(visits: Visits, settings: Any) -> None:
    settings.COMPANY_URL = ""
    page = visits.by(make_user(role=Role.ADMIN))

    page.goto(reverse("company-server"))

    expect(page.get_by_text("Nothing leaves this machine")).to_be_visible()
    assert findings(page) == []


def test_what_was_kept_here_is_sent_with_one_click_without_a_script(visits: Visits, company: Company) -> None:
    ada = make_actor(make_user("ada", role=Role.ADMIN))
    promote_to_global(ada, category="standard", title="Mine alone", content="Mine alone.", keep_here=True)
    page = visits.by(ada.user, javascript=False)

    page.goto(reverse("company-server"))
    page.get_by_role("button", name="Propose it to the company").click()

    expect(page.get_by_role("main")).to_contain_text("Waits to be sent")


def test_the_directory_shows_whose_laptop_is_online(visits: Visits, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    ada = make_actor(make_user("ada"))
    change_sharing(ada, sections=[ProfileSection.WHO, ProfileSection.AGENTS], in_directory=True, session_ids=[])
    register_instance(ada, instance_id=uuid4(), name="ada's laptop", version="1.4", url="https://laptop.example.com")
    page = visits.by(make_user("reader"))

    page.goto(reverse("directory"))

    expect(page.get_by_role("list", name="Instances")).to_contain_text("online")
    assert findings(page) == []

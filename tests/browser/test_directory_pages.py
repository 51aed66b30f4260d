"""The pages about people, in Chromium: for everyone to use, without a script, and showing what was chosen."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from accounts.actor import Actor
from accounts.models import User
from accounts.people.profiles import update_profile
from bigmind.environment.profile_sections import ProfileSection
from knowledge.models import Session
from knowledge.people.people_index import change_sharing
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.curation.factories import approved_entry
from tests.factories import make_agent, make_user
from tests.knowledge.factories import make_session

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_a_team")]


@pytest.fixture
def ada() -> Actor:
    """Somebody with something in each section, who shares it all."""
    ada = make_agent(make_user("ada", display_name="Ada Lovelace"), "claude-code", host="atlas")
    update_profile(ada, role="Analyst of engines", preferences="Short answers.")
    session = make_session(ada, one_liner="Moved payments to a queue", topics=["payments", "w" * 100])
    for number in range(40):
        then = timezone.now() - timedelta(days=number * number % 170)
        Session.objects.create(user=ada.user, started_at=then, topics=["deploys"])
    approved_entry(ada, title="Payments are idempotent", content="Every payment carries a key.")
    change_sharing(ada, sections=list(ProfileSection), in_directory=True, session_ids=[session.pk])
    return ada


@pytest.fixture
def reader() -> User:
    return make_user("reader")


def test_everyone_can_use_each_page(visits: Visits, ada: Actor, reader: User) -> None:
    theirs, hers, found = visits.by(reader), visits.by(ada.user), []

    for page, address in (
        (theirs, reverse("profile", args=["ada"])),
        (theirs, reverse("profile", args=["reader"])),
        (theirs, f"{reverse('profile', args=['reader'])}?as=others"),
        (theirs, reverse("directory")),
        (theirs, f"{reverse('directory')}?query=who+worked+on+payments"),
        (theirs, f"{reverse('directory')}?topic=nothing"),
        (theirs, f"{reverse('directory')}?query={'x' * 2001}"),
        (hers, reverse("profile", args=["ada"])),
        (hers, reverse("profile-sharing", args=["ada"])),
    ):
        page.goto(address)
        found += findings(page)

    assert found == []


def test_what_somebody_shares_is_chosen_found_and_taken_back_without_a_script(visits: Visits, reader: User) -> None:
    grace = make_agent(make_user("grace"), "codex")
    make_session(grace, one_liner="Repaired the compiler", topics=["compilers"])
    hers, theirs = visits.by(grace.user, javascript=False), visits.by(reader, javascript=False)

    hers.goto(reverse("profile", args=["grace"]))
    hers.get_by_role("link", name="Privacy settings").click()
    hers.get_by_label("Topics:").check()
    hers.get_by_role("button", name="Keep this").click()
    theirs.goto(reverse("directory"))
    theirs.get_by_label("Who worked on …?").fill("who worked on compilers?")
    theirs.get_by_role("button", name="Find people").click()

    expect(theirs.get_by_role("main")).to_contain_text("shares the topic compilers")
    hers.get_by_role("link", name="Privacy settings").click()
    hers.get_by_label("List me in the directory").uncheck()
    hers.get_by_role("button", name="Keep this").click()
    theirs.reload()
    expect(theirs.get_by_role("heading", name="Nobody was found")).to_be_visible()


def test_activity_is_read_as_a_table(visits: Visits, ada: Actor) -> None:
    page = visits.by(ada.user)

    page.goto(reverse("profile", args=["ada"]))

    table = page.get_by_role("table", name="Sessions, flagged exchanges and facts by day")
    today = timezone.localdate()
    expect(table.get_by_role("rowheader")).to_have_count(7)
    expect(table.get_by_role("cell", name=f"{today.day} {today:%B}: ")).to_have_count(1)

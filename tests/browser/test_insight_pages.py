"""The pages of insights in a browser: for everyone, without scripts, and whatever was stored."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import Role, User
from knowledge.context.sessions import end_session, start_session
from knowledge.exposures.exposures import tally_servings
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.company import search_global
from knowledge.kb.entries import add_entry
from knowledge.models import Gap
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.browser.fernwood import make_weeks_of_use
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_fact
from tests.knowledge.factories import make_told_session as make_session

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_a_team")]

QUESTION = "How do we rotate Kafka certificates?"


def _company_in_use(text: str = "") -> User:
    """A curator's company: entries that help, mislead and are ignored, and questions that found nothing."""
    ada = make_user("ada", role=Role.CURATOR, display_name="Ada Lovelace")
    agents = [make_agent(ada, "claude-code", host="atlas"), make_agent(make_user("grace"), "cursor-vscode")]
    titles = ("Retries in clients", "Health checks", "Deploy days", text[:80] or "Glossary: tenant")
    helpful, wrong, *_ = [
        approved_entry(title=title, importance=9 - number, topics=["deploys"]) for number, title in enumerate(titles)
    ]
    add_entry(
        make_actor(make_user("linus")),
        content="How we rotate certificates: those of Kafka are kept in the vault.",
        entry_type="fact",
    )
    embed_pending()
    make_fact(agents[0], text or "Atlas deploys on Tuesdays.", project="atlas")
    make_session(agents[0], one_liner=(text or "Chose a queue")[:120])
    for agent in agents:
        start_session(agent, project="atlas", topics=["deploys"])
        end_session(agent, one_liner="Done", used=[helpful.handle], misleading=[wrong.handle])
        make_weeks_of_use([agent])
        search_global(agent, query=text[:200] or QUESTION)
    for _ in range(2):  # With grace three others, before ada sees what they asked.
        search_global(make_agent(make_user(), "codex"), query=text[:200] or QUESTION)
    search_global(agents[0], query=text[200:400] or "Who signs off the holiday calendar?")
    start_session(agents[0], project="atlas", topics=["deploys"])
    tally_servings()
    return ada


def _addresses(user: User) -> list[str]:
    session = user.sessions.order_by("-started_at").first()
    return [
        reverse("insights"),
        reverse("insights") + "?days=7&whose=everybody",
        reverse("insights") + "?days=400",
        reverse("insights-knowledge") + "?days=90",
        reverse("insights-curation") + "?whose=everybody",
        reverse("insights-gaps"),
        reverse("insights-gaps") + "?state=dismissed",
        reverse("memory-timeline"),
        reverse("memory-session", args=[session.pk]),
        reverse("memory-context") + "?topics=deploys&project=atlas",
    ]


def test_every_page_is_usable_by_everyone(visits: Visits) -> None:
    ada = _company_in_use()
    page = visits.by(ada)

    found = [finding for address in _addresses(ada) for finding in _look_at(page, address)]

    assert found == []


def test_admins_and_newcomers_can_use_them_too(visits: Visits) -> None:
    _company_in_use()

    found = [
        finding
        for page in (visits.by(make_user(role=Role.ADMIN)), visits.by(make_user()))
        for address in (
            reverse("insights"),
            reverse("insights") + "?whose=everybody",
            reverse("insights-knowledge"),
            reverse("insights-curation"),
            reverse("insights-gaps"),
        )
        for finding in _look_at(page, address)
    ]

    assert found == []


def test_without_scripts_a_range_is_chosen_and_a_question_settled(visits: Visits) -> None:
    ada = _company_in_use()
    page = visits.by(ada, javascript=False)

    page.goto(reverse("insights"))
    page.get_by_role("link", name="7 days", exact=True).click()
    page.get_by_role("link", name="Whole team").click()
    expect(page.get_by_role("heading", name="The whole team, the last 7 days")).to_be_visible()
    page.get_by_role("link", name="Unanswered questions").click()
    page.get_by_role("listitem").filter(has_text=QUESTION).get_by_role("button", name="Dismiss").click()

    expect(page.get_by_text("Dismissed. It stays so")).to_be_visible()
    assert Gap.objects.filter(state="dismissed").count() == 1


def test_a_chart_is_read_out_step_by_step_and_has_its_numbers_in_a_table(visits: Visits) -> None:
    page = visits.by(_company_in_use())
    page.goto(reverse("insights"))
    chart = page.locator("figure", has_text="The busiest day was").first

    chart.get_by_role("img").focus()
    page.keyboard.press("ArrowLeft")
    newest = chart.locator("output").inner_text()
    page.keyboard.press("ArrowLeft")
    chart.locator("summary").click()

    assert "searches" in newest
    assert chart.locator("output").inner_text() != newest
    expect(chart.get_by_role("row")).to_have_count(31)


def test_a_draft_begins_with_the_question(visits: Visits) -> None:
    ada = _company_in_use()
    page = visits.by(ada)

    page.goto(reverse("insights-gaps"))
    page.get_by_role("listitem").filter(has_text=QUESTION).get_by_role("link", name="Answer").click()

    expect(page.get_by_label("Title")).to_have_value(QUESTION)


def _look_at(page: Page, address: str) -> list[str]:
    page.goto(address)
    return findings(page)

"""The pages of insights: what they show, to whom, and in how many queries."""

import pytest
from django.urls import reverse

from accounts.models import Call, Role
from knowledge.context.sessions import end_session, start_session
from knowledge.models import Gap, UnansweredQuestion
from knowledge.recall.semantic_search import semantic_search
from tests.curation.factories import approved_entry
from tests.factories import browser_of, make_agent, make_user
from tests.knowledge.factories import make_fact

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]

QUESTION = "How do we rotate the Kafka certificates?"


def _use(name: str = "claude-code", *, username: str = ""):
    """An agent that was told something, cited it, and asked what nobody knows."""
    agent, entry = make_agent(make_user(username), name), approved_entry()
    make_fact(agent)
    start_session(agent)
    end_session(agent, one_liner="Done", used=[entry.handle])
    semantic_search(agent, query=QUESTION)
    made = {"user": agent.user, "agent": agent.agent, "operation": "memory_list_facts", "transport": "mcp"}
    for outcome in ("ok", "ok", "not_found"):
        Call.objects.create(**made, outcome=outcome, milliseconds=7)
    return agent


def test_a_person_sees_their_use_and_how_the_estimate_is_made():
    agent = _use()

    page = browser_of(agent.user).get(reverse("insights"))

    assert page.status_code == 200
    assert "How look-ups saved are estimated" in page.text
    assert "memory_list_facts" in page.text
    assert "not_found" in page.text
    assert "claude-code 1.0 on laptop" in page.text


def test_a_person_without_use_is_shown_the_way_and_a_range_that_does_not_exist_refused_in_words():
    browser = browser_of(make_user())

    page = browser.get(reverse("insights"))
    refused = browser.get(reverse("insights"), {"days": "365"})

    assert "No calls in these days" in page.text
    assert refused.status_code == 200
    assert "90" in refused.text
    assert '<svg class="plot"' not in refused.text


def test_nobody_but_admins_learns_who_used_what():
    _use("a-secret-client", username="lovelace")
    readers = [browser_of(make_user(role=role)) for role in (Role.MEMBER, Role.CURATOR)]

    for reader in readers:
        before = reader.get(reverse("insights"), {"whose": "everybody"}).text
        assert "memory_list_facts" not in before
        assert "nothing is shown of the whole team" in before
        assert "No calls in these days" not in before

    for _ in range(2):
        _use("a-secret-client")

    for reader in readers:
        page = reader.get(reverse("insights"), {"whose": "everybody"})
        assert "memory_list_facts" in page.text
        assert "a-secret-client" not in page.text
        assert "lovelace" not in page.text


def test_admins_see_all_agents_with_their_owners():
    _use("cursor-vscode", username="ada")

    page = browser_of(make_user(role=Role.ADMIN)).get(reverse("insights"), {"whose": "everybody"})

    assert "cursor-vscode" in page.text
    assert "<td>ada</td>" in page.text


def test_the_pages_take_few_queries_whatever_there_is(django_assert_max_num_queries):
    for number in range(4):
        _use(f"client-{number}")

    for role in (Role.MEMBER, Role.ADMIN):
        client = browser_of(make_user(role=role))
        client.get(reverse("insights"))  # the first page of a sign-in also notes the browser

        for route in ("insights", "insights-knowledge", "insights-curation", "insights-gaps"):
            for whose in ("mine", "everybody"):
                with django_assert_max_num_queries(12):
                    client.get(reverse(route), {"whose": whose})


def test_questions_of_one_person_are_on_no_page_of_another():
    _use()

    for user in (make_user(), make_user(role=Role.CURATOR), make_user(role=Role.ADMIN)):
        page = browser_of(user).get(reverse("insights-gaps"))
        assert "Kafka" not in page.text


def test_a_question_leads_to_a_draft():
    agent = _use()

    page = browser_of(agent.user).get(reverse("insights-gaps"))

    assert QUESTION in page.text
    assert "company/propose/?title=How+do+we+rotate" in page.text
    draft = browser_of(agent.user).get(reverse("kb-new"), {"content": f"# {QUESTION}"})
    assert f"# {QUESTION}" in draft.text
    proposal = browser_of(agent.user).get(reverse("company-propose"), {"title": QUESTION})
    assert f'value="{QUESTION}"' in proposal.text


def test_a_person_forgets_a_question_of_theirs_and_a_foreign_one_is_answered_like_none():
    agent = _use()
    forget = reverse("insights-question-forget", args=[UnansweredQuestion.objects.get().pk])

    foreign = browser_of(make_user()).post(forget)
    still_there = UnansweredQuestion.objects.exists()
    page = browser_of(agent.user).post(forget, follow=True)

    assert (foreign.status_code, still_there) == (404, True)
    assert "Forgotten" in page.text
    assert not UnansweredQuestion.objects.exists()


def test_a_curator_settles_what_three_people_asked_and_a_member_does_not():
    agent, *_ = (_use() for _ in range(3))
    gap = Gap.objects.get()
    settle = reverse("insights-gap-settle", args=[gap.pk])

    refused = browser_of(agent.user).post(settle, {"state": "dismissed"})
    page = browser_of(make_user(role=Role.CURATOR)).post(settle, {"state": "dismissed"}, follow=True)

    assert refused.status_code == 403
    assert "Dismissed" in page.text
    gap.refresh_from_db()
    assert gap.state == "dismissed"


def test_the_page_of_a_session_shows_its_receipt():
    agent, entry = make_agent(make_user(), "claude-code"), approved_entry(title="Health checks")
    fact = make_fact(agent, "Prefers pytest.")
    session = start_session(agent).session

    page = browser_of(agent.user).get(reverse("memory-session", args=[session.pk]))

    assert "What it was told at its start" in page.text
    assert f"[{entry.handle}] Health checks" in page.text
    assert fact.fact in page.text

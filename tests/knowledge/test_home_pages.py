"""Home: one question over everything, and what is new."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Alert
from curation.models import Channel, Delivery
from curation.services.inbox import inbox_of
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.archive import set_aside
from knowledge.models import CompanyEntry, Hypothesis
from knowledge.recall.semantic_search import semantic_search
from tests.curation.factories import decide_at_latest, propose
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note, make_session

pytestmark = pytest.mark.django_db


def test_someone_with_an_empty_memory_is_told_the_next_step(browser):
    page = browser.get("/")

    assert "Nothing is remembered yet" in page.text
    assert reverse("connect") in page.text


def test_home_shows_what_is_new_and_which_agents_are_at_work(browser, actor):
    make_session(make_agent(actor.user, "Claude Code", host="atlas"), is_open=True)
    make_session(make_agent(actor.user, "Cursor", host="laptop"), is_open=True)
    make_session(actor, one_liner="Moved the build")
    make_fact(actor, "Prefers pytest.")

    page = browser.get("/")

    for shown in (
        "in progress",
        "Claude Code 1.0 on atlas",
        "Cursor 1.0 on laptop",
        "Moved the build",
        "Prefers pytest.",
    ):
        assert shown in page.text


def test_the_inbox_says_what_waits_and_why_with_one_action_each(client, settings, django_assert_max_num_queries):
    settings.BIGMIND_MODE = "team"
    ada, grace = make_actor(), make_actor(curator=True)
    sent_back, approved = propose(ada, title="Flags need an owner"), propose(ada, title="Secrets live in Vault")
    decide_at_latest(grace, entry_id=sent_back.pk, action="request_changes", notes="Who?")
    decide_at_latest(grace, entry_id=approved.pk, action="approve")
    CompanyEntry.objects.filter(pk=approved.pk).update(owner=ada.user, review_after=timezone.localdate())
    belief = make_hypothesis(ada, "I believe deploys are slow.")
    Hypothesis.objects.filter(pk=belief.pk).update(check_on=timezone.localdate())
    propose(grace, title="Theirs to decide")
    client.force_login(ada.user)
    client.get("/")

    with django_assert_max_num_queries(26):
        page = client.get("/")
    waits = _inbox(page.text)
    client.force_login(grace.user)
    of_curator = _inbox(client.get("/").text)

    assert waits == {
        "Changes requested": ["Revise: Flags need an owner"],
        "Decisions and comments": [f"Open: “Secrets live in Vault” ({approved.handle}) was approved by {grace.user}."],
        "Due for verification": ["Verify: Secrets live in Vault"],
        "Hypotheses to check": ["Check: I believe deploys are slow."],
    }
    assert "Because you proposed it" in page.text
    # What curators propose themselves is decided by others.
    assert of_curator == {}


def test_what_was_opened_is_read_and_waits_no_longer(client, settings):
    settings.BIGMIND_MODE = "team"
    ada, grace = make_actor(), make_actor(curator=True)
    entry = propose(ada)
    decide_at_latest(grace, entry_id=entry.pk, action="approve")
    client.force_login(ada.user)

    before = client.get("/").text
    opened = client.get(reverse("company-entry", args=[entry.pk])).text
    after = client.get("/").text

    assert "Decisions and comments" in before
    assert '<small hidden><span></span><span class="visually-hidden"> new</span></small>' in opened
    assert "Decisions and comments" not in after
    assert "Inbox empty" in after or "Nothing is remembered yet" in after


def test_an_admin_sees_what_fails_and_a_member_does_not(client):
    Delivery.objects.create(channel=Channel.WEBHOOK, event="x", body={}, given_up_at=timezone.now())
    pages = {}
    for role in ({"admin": True}, {"curator": True}):
        client.force_login(make_actor(**role).user)
        pages[next(iter(role))] = client.get("/").text

    assert "1 message could not be delivered" in pages["admin"]
    assert "delivered" not in pages["curator"]


def _inbox(page: str) -> dict[str, list[str]]:
    """Return the actions of each group of the inbox, by its heading."""
    groups = re.findall(r'<h2 id="inbox-\w+">([^<]+) <span class="count">.*?</section>', page, re.DOTALL)
    parts = re.findall(r'<section class="section inbox".*?</section>', page, re.DOTALL)
    action = r'data-size="small" href="[^"]+">([^<]+)<span class="visually-hidden">([^<]+)</span>'
    return {
        name: [html.unescape(verb + title) for verb, title in re.findall(action, part)]
        for name, part in zip(groups, parts, strict=True)
    }


def test_one_question_finds_every_kind_of_thing(actor):
    make_fact(actor, "Deploys go out on Tuesdays.")
    make_chunk(actor, content="The deploys failed.")
    make_session(actor, one_liner="Deploys fixed", summary="All about deploys.")
    make_note(actor, "Deploys are announced.")
    make_hypothesis(actor, "I believe deploys are slow.")

    hits = semantic_search(actor, query="deploys")

    assert {hit.kind for hit in hits.items} == {"fact", "chunk", "summary", "note", "hypothesis"}
    assert hits.total == 5


def test_a_question_can_be_narrowed_to_a_kind_and_a_project(actor):
    make_fact(actor, "Deploys go out on Tuesdays.", project="atlas")
    make_fact(actor, "Deploys go out on Mondays.", project="bigmind")
    make_note(actor, "Deploys are announced.", project="atlas")

    hits = semantic_search(actor, query="deploys", kinds=["fact"], project="atlas")

    assert [hit.title for hit in hits.items] == ["Deploys go out on Tuesdays."]


def test_what_is_found_is_marked_and_links_to_its_page(browser, actor):
    fact = make_fact(actor, "Deploying <b>policies</b> hold & bind.")

    page = browser.get("/", {"query": "deploys policy"})

    assert reverse("memory-fact", args=[fact.pk]) in page.text
    assert "<mark>Deploying</mark> &lt;b&gt;<mark>policies</mark>&lt;/b&gt; hold &amp; bind." in page.text


def test_what_was_set_aside_is_not_found(browser, actor):
    note = make_note(actor, "Deploys are announced.")
    set_aside(actor, kind="note", id=str(note.pk))
    embed_pending()

    page = browser.get("/", {"query": "deploys"})

    assert "Nothing is stored yet" in page.text


def test_a_slip_of_the_pen_leads_to_names_that_exist(browser, actor):
    make_session(actor, one_liner="x", topics=["deploys"])

    page = browser.get("/", {"query": "teploys"})

    assert '<a href="/?query=deploys">deploys</a>' in page.text


@pytest.mark.parametrize("query", ["' OR 1=1 --", "a & | ! (b", "%%%", "<script>", "\\", "🧠", "the"])
def test_no_question_can_make_the_search_fail(browser, query):
    page = browser.get("/", {"query": query})

    assert page.status_code == 200


def test_a_place_in_the_list_that_is_no_number_is_explained(browser):
    page = browser.get("/", {"query": "a", "offset": "next"})

    assert "offset must be a whole number" in page.text


def test_what_waits_is_read_as_far_as_it_is_shown_and_counted_beyond(actor):
    for number in range(7):
        Alert.objects.create(user=actor.user, kind=Alert.Topic.KEY_ENDS, text=f"Key {number} ends.")

    (alerts,) = inbox_of(actor)

    assert [str(line.thing) for line in alerts.lines] == [f"Key {number} ends." for number in (6, 5, 4, 3, 2)]
    assert alerts.total == 7


def test_what_deserves_a_look_is_named_by_its_first_words(client: Client) -> None:
    ada = make_actor()
    make_fact(ada, "Perhaps the ledger needs Redis.", confidence=0.1)
    make_session(ada, one_liner="Look for the lost invoices")
    client.force_login(ada.user)

    page = client.get(reverse("memory")).content.decode()

    assert ">Perhaps the ledger needs Redis.</a>" in page
    assert ">Look for the lost invoices</a>" in page

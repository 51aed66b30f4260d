"""The pages of search: what is found, how it can be narrowed, and why it was found."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from bigmind.text.hygiene import digest
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.company import index_company_entry
from knowledge.kb.entries import add_entry
from knowledge.models import CompanyEntry, Fact, Status
from tests.factories import make_actor, make_user
from tests.knowledge.factories import make_fact, make_facts, make_note

pytestmark = pytest.mark.django_db


def test_company_knowledge_says_who_approved_it(client):
    grace, ada = make_actor(curator=True), make_actor()
    text = "Deploys go through the router."
    entry = CompanyEntry.objects.create(
        category="standard",
        title="Deploys",
        content=text,
        digest=digest(text),
        status=Status.APPROVED,
        owner=ada.user,
        decided_by=grace.user,
        decided_at=timezone.now(),
    )
    index_company_entry(entry)
    client.force_login(ada.user)

    page = client.get("/", {"query": "router"})

    assert f"approved by {grace.user}" in page.text
    assert "never verified" in page.text
    assert "Deploys go through the <mark>router</mark>." in page.text


def test_the_address_narrows_by_kind_project_and_day(browser, actor):
    old = make_fact(actor, "Deploys went out on Mondays.", project="atlas")
    Fact.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=400))
    make_fact(actor, "Deploys go out on Tuesdays.", project="atlas")
    make_fact(actor, "Deploys go out on Fridays.", project="bigmind")
    make_note(actor, "Deploys are announced.", project="atlas")
    last_week = (timezone.localdate() - timedelta(days=7)).isoformat()

    page = browser.get("/", {"query": "deploys", "kinds": "fact", "project": "atlas", "since": last_week})

    assert "on Tuesdays" in page.text
    for other in ("on Mondays", "on Fridays", "announced"):
        assert other not in page.text
    assert f'value="{last_week}"' in page.text
    assert '<option value="atlas" selected>' in page.text


def test_the_three_nearest_are_shown_at_once_and_the_others_are_folded(browser, actor):
    for colour in ("red", "green", "blue", "black", "white"):
        make_fact(actor, f"The {colour} boat is in the harbour.")
    embed_pending()

    page = browser.get("/", {"query": "zeppelin hangar tariffs"})

    shown, _, folded = page.text.partition("2 weak matches")
    assert (shown.count("boat is in the harbour."), folded.count("boat is in the harbour.")) == (3, 2)


def test_an_answer_leads_to_its_explanation_and_both_say_that_meaning_was_not_asked(browser, actor):
    make_fact(actor, "Deploys go out on Tuesdays.")

    page = browser.get("/", {"query": "deploys & co", "kinds": "fact"})
    explained = browser.get(reverse("search-explain"), {"query": "deploys"})

    assert f"{reverse('search-explain')}?query=deploys+%26+co&amp;kinds=fact" in page.text
    assert "By words alone." in page.text
    assert "still being made" in page.text
    assert "By words alone." in explained.text
    assert "× similarity" not in explained.text
    assert browser.get(reverse("search-explain")).url == reverse("home")


def test_a_long_answer_comes_in_pages_that_keep_the_question(browser, actor):
    make_facts(actor, [f"Deploys take {number} minutes." for number in range(25)])

    first = browser.get("/", {"query": "deploys", "kinds": "fact"})
    second = browser.get("/", {"query": "deploys", "kinds": "fact", "offset": "20"})

    assert "1 to 20 of 25" in first.text
    assert "query=deploys&amp;kinds=fact&amp;offset=20" in first.text
    assert "21 to 25 of 25" in second.text


def test_near_identical_hits_are_folded_and_contradictions_are_not(browser, actor):
    make_fact(actor, "Webhooks are **retried** for 24 hours with `backoff`, and then they stop.")
    make_fact(actor, "The webhooks are retried for 24 hours with backoff, and then they stop.")
    make_fact(actor, "Webhooks are retried for 48 hours with backoff, and then they stop.")

    page = browser.get("/", {"query": "webhooks retried"})

    assert "1 more like this" in page.text
    assert "1 to 2 of 2 results" in page.text
    assert "<mark>retried</mark> for 24 hours with <code>backoff</code>" in page.text
    assert "**" not in page.text


def test_each_filter_says_how_many_answers_it_leaves_and_they_combine(client, django_assert_max_num_queries):
    actor, other = make_actor(), make_actor()
    make_fact(actor, "Deploys of the shop go out on Mondays.", project="atlas")
    make_fact(actor, "Deploys need a green pipeline.", project="atlas")
    make_fact(actor, "Deploys take a quarter of an hour.", project="bigmind")
    make_note(actor, "Deploys are announced.", project="atlas")
    add_entry(other, content="Deploys wait for the router.", entry_type="fact", project="atlas")
    client.force_login(actor.user)

    with django_assert_max_num_queries(22):
        everything = client.get("/", {"query": "deploys"})
    narrowed = client.get("/", {"query": "deploys", "kinds": "fact", "project": "atlas"})
    mine = client.get("/", {"query": "deploys", "who": "me", "age": "week"})

    ages = ("Past week", "Past month", "Past year")
    kinds, projects = {"Facts": 3, "Notes": 1, "Shared entries": 1}, {"atlas": 4, "bigmind": 1}
    people = {"You": 4, str(other.user): 1}
    assert _facets(everything.text) == {**kinds, **projects, **people, **dict.fromkeys(ages, 5)}
    # What is chosen has a cross instead of a number; the others of its facet say what choosing them would bring.
    others = {"Notes": 1, "Shared entries": 1, "bigmind": 1, "You": 2}
    assert _facets(narrowed.text) == {**others, **dict.fromkeys(ages, 2)}
    assert "1 to 2 of 2 results" in narrowed.text
    assert "1 to 4 of 4 results" in mine.text
    assert 'name="who" value="me"' in mine.text


def test_where_nothing_is_certain_a_link_searches_the_directory(client, settings):
    settings.BIGMIND_MODE = "team"
    client.force_login(make_user())

    page = client.get("/", {"query": "pgbouncer maintenance windows"})

    assert f'href="{reverse("directory")}?query=pgbouncer%20maintenance%20windows"' in page.text


def _facets(page: str) -> dict[str, int]:
    """Return the counts of the facets, by their labels."""
    return {name: int(count) for name, count in re.findall(r"<span>([^<]+)</span><small>(\d+)</small></a></li>", page)}


def test_an_explanation_never_counts_what_belongs_to_somebody_else(browser):
    make_fact(make_actor(), "Zanzibar is warm.")
    embed_pending()

    page = browser.get(reverse("search-explain"), {"query": "zanzibar"})

    assert "Zanzibar is warm" not in page.text
    assert "No passage has such a word, and the meaning the 0 nearest. Together they make 0 candidates." in page.text


@pytest.mark.parametrize("query", ["' OR 1=1 --", "a & | ! (b", "%%%", "<script>", "\\", "🧠", "the", "”„"])
def test_no_question_can_make_an_explanation_fail(browser, query, actor):
    make_fact(actor, "Plain words.")
    embed_pending()

    page = browser.get(reverse("search-explain"), {"query": query})

    assert page.status_code == 200
    assert "<script>" not in page.text


@pytest.mark.parametrize(
    "asked", [{"kinds": "secrets"}, {"since": "whenever"}, {"offset": "next"}, {"query": "x" * 2001}]
)
def test_what_cannot_be_asked_is_explained_on_both_pages(browser, asked):
    for address in (reverse("home"), reverse("search-explain")):
        page = browser.get(address, {"query": "deploys", **asked})

        assert page.status_code == 200
        assert "Problem: that cannot be asked" in page.text

"""The pages of search in a browser: for everyone, without scripts, and whatever was stored."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.actor import Actor
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry
from tests.browser.axe import findings, scrolls_sideways
from tests.browser.conftest import Visits
from tests.factories import make_actor
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note, make_session

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HOSTILE = (
    "<script>alert(1)</script><img src=https://evil.example/x onerror=alert(2)>"
    "\"><svg onload=alert(3)>'-alert(4)-'[x](javascript:alert(5))![x](https://evil.example/y){{ 7|add:7 }}"
)

QUESTIONS = [
    "?query=slow+install",
    "?query=zzzz",
    "?query=install&kinds=fact&project=atlas&since=2026-01-01",
    "?query=a&kinds=b",
]


def _store(actor: Actor, text: str) -> None:
    """Store `text` as a thing of each kind, shared ones included, and embed it."""
    make_fact(actor, text, project="atlas")
    make_session(actor, one_liner=text[:120], summary=text, topics=[text[:90]])
    make_chunk(actor, content=text)
    make_note(actor, text, domain=text[:150], key=text[:150], project=text[:100])
    make_hypothesis(actor, text)
    add_entry(make_actor(), content=text, entry_type="fact", tags=[text[:90]], project=text[:100])
    embed_pending()


def _addresses() -> list[str]:
    return [page + question for page in (reverse("home"), reverse("search-explain")) for question in QUESTIONS]


def test_every_answer_is_usable_by_everyone(visits: Visits):
    actor = make_actor()
    _store(actor, "# Why\n\nThe install was **slow**: it took 12 minutes, and nobody knew why. " * 12)
    page = visits.by(actor.user)

    found = [finding for address in _addresses() for finding in _look_at(page, address)]

    assert found == []


def test_answers_by_words_alone_are_usable_by_everyone(visits: Visits):
    actor = make_actor()
    make_fact(actor, "The install was slow.")
    make_session(actor, topics=["postgres"])
    page = visits.by(actor.user)

    questions = [
        page + question for page in ("/", reverse("search-explain")) for question in ("?query=slow", "?query=postgers")
    ]
    found = [finding for address in questions for finding in _look_at(page, address)]

    assert found == []


def test_no_word_that_was_found_is_too_long_for_a_phone(visits: Visits):
    actor = make_actor()
    _store(actor, "Donaudampfschifffahrtsgesellschaft" * 9)
    page = visits.by(actor.user)
    page.set_viewport_size({"width": 320, "height": 900})

    wide = [address for address in _addresses() if page.goto(address) and scrolls_sideways(page)]

    assert wide == []


def test_whatever_was_found_is_shown_and_never_run(visits: Visits):
    actor = make_actor()
    _store(actor, HOSTILE)
    page = visits.by(actor.user)

    for address in (reverse("home"), reverse("search-explain")):
        page.goto(f"{address}?query=alert+script+evil")
        assert page.locator("main script, main img, main iframe, main svg:not(.icon)").count() == 0
        assert page.locator("main [onerror], main [onload], main [href^='javascript']").count() == 0


def test_without_scripts_a_question_is_asked_narrowed_and_explained(visits: Visits):
    actor = make_actor()
    make_fact(actor, "The install was slow.")
    make_note(actor, "The install is documented.")
    embed_pending()
    page = visits.by(actor.user, javascript=False)

    page.goto(reverse("home"))
    page.get_by_label("Search everything").fill("install")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("navigation", name="Filters").get_by_role("link", name="Facts 1").click()
    expect(page.get_by_role("link", name="The install was slow.")).to_be_visible()
    expect(page.get_by_text("The install is documented.")).to_have_count(0)
    page.get_by_role("link", name="Why these results?").click()

    expect(page.get_by_role("row", name="The install was slow.")).to_be_visible()
    expect(page.get_by_label("Search in")).to_have_value("fact")


def _look_at(page: Page, address: str) -> list[str]:
    page.goto(address)
    return findings(page)

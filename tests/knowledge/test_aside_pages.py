"""Setting aside with a reason, undo, restoring, and erasing for good."""

import pytest
from django.urls import reverse

from knowledge.memory.archive import set_aside
from knowledge.memory.facts import correct_fact
from knowledge.models import Chunk, Fact, Hypothesis, Note, Passage, Session
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note, make_session

pytestmark = pytest.mark.django_db

MAKERS = {
    "fact": make_fact,
    "session": make_session,
    "chunk": make_chunk,
    "note": make_note,
    "hypothesis": make_hypothesis,
}
MODELS = {"fact": Fact, "session": Session, "chunk": Chunk, "note": Note, "hypothesis": Hypothesis}


def test_a_fact_is_set_aside_with_its_reason_and_can_be_taken_back_at_once(browser, actor):
    fact = make_fact(actor, "CI uses Jenkins.")
    address = reverse("memory-set-aside", args=["fact", fact.pk]) + "?next=/memory/facts/%3Fcategory=preference"

    page = browser.post(address, {"reason": "We moved."}, follow=True)
    fact.refresh_from_db()

    assert page.redirect_chain[-1][0] == "/memory/facts/?category=preference"
    assert "Set aside: “CI uses Jenkins.”" in page.text
    assert f'action="{reverse("memory-restore", args=["fact", fact.pk])}"' in page.text
    assert (fact.is_current, fact.deprecation_reason) == (False, "We moved.")


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_is_set_aside_listed_and_restored(browser, kind, actor):
    thing = MAKERS[kind](actor)

    browser.post(reverse("memory-set-aside", args=[kind, thing.pk]))
    listed = browser.get(reverse("memory-aside"))
    restored = browser.post(reverse("memory-restore", args=[kind, thing.pk]), follow=True)
    emptied = browser.get(reverse("memory-aside"))

    assert str(thing) in listed.text
    assert "Restored:" in restored.text
    assert "Nothing is set aside" in emptied.text


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("aside", [False, True])
def test_every_kind_is_erased_after_one_more_question(browser, kind, aside, actor):
    thing = MAKERS[kind](actor)
    if aside:
        set_aside(actor, kind=kind, id=str(thing.pk))
    address = reverse("memory-erase", args=[kind, thing.pk])

    asked = browser.get(address)
    still_there = MODELS[kind].objects.filter(pk=thing.pk).exists()
    page = browser.post(address, follow=True)

    assert "This cannot be undone." in asked.text
    assert still_there
    assert "was permanently deleted." in page.text
    assert not MODELS[kind].objects.filter(pk=thing.pk).exists()
    assert not Passage.objects.filter(kind__in=[kind, "summary" if kind == "session" else kind]).exists()


def test_before_a_session_is_erased_its_page_says_what_goes_with_it(browser, actor):
    session = make_session(actor, is_open=True)
    make_chunk(actor, session=session)
    make_chunk(actor, session=session)

    page = browser.get(reverse("memory-erase", args=["session", session.pk]))

    assert "its summary and 2 chunks go with it" in page.text


def test_whoever_erases_a_thing_on_its_own_page_returns_to_the_list(browser, actor):
    fact = make_fact(actor)
    own_page = reverse("memory-fact", args=[fact.pk])

    page = browser.post(reverse("memory-erase", args=["fact", fact.pk]) + f"?next={own_page}")

    assert page.url == reverse("memory-facts")


def test_a_fact_whose_correction_holds_is_not_restored_beside_it(browser, actor):
    old = make_fact(actor, "CI uses Jenkins.")
    new = correct_fact(actor, fact_id=old.pk, fact="CI uses Actions.")

    page = browser.post(reverse("memory-restore", args=["fact", old.pk]), follow=True)

    assert f"see fact {new.number}" in page.text
    assert list(Fact.objects.current()) == [new]


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
)
def test_the_way_back_never_leads_elsewhere(browser, target, actor):
    note = make_note(actor)

    page = browser.post(reverse("memory-set-aside", args=["note", note.pk]), {"next": target})

    assert page.url == reverse("memory-note", args=[note.pk])


def test_a_reason_that_is_too_long_is_refused(browser, actor):
    fact = make_fact(actor)

    page = browser.post(reverse("memory-set-aside", args=["fact", fact.pk]), {"reason": "x" * 1001})

    assert "Reason: This is 1001 characters; the limit is 1000. Shorten it." in page.text
    fact.refresh_from_db()
    assert fact.is_current

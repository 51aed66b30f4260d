"""Setting aside and restoring: out of sight, on record, and back."""

import pytest
from django.urls import reverse

from bigmind.core.errors import Invalid, NotFound
from knowledge.context.sessions import end_session, list_sessions, start_session
from knowledge.context.start_context import get_context
from knowledge.conversation.chunks import flag_important
from knowledge.memory.archive import restore, set_aside
from knowledge.memory.facts import correct_fact, list_facts, store_fact
from knowledge.memory.hypotheses import add_hypothesis, list_hypotheses
from knowledge.memory.notes import get_notes, set_note
from knowledge.models import Chunk, Fact, Hypothesis, Note, Passage, Session
from knowledge.recall.recall import search_chunks, search_notes
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note, make_session

pytestmark = pytest.mark.django_db


def test_a_session_takes_its_chunks_along_and_brings_those_back_that_were_not_set_aside_themselves(actor):
    session = start_session(actor).session
    flag_important(actor, content="We chose Redis.")
    chunk = flag_important(actor, content="We left RabbitMQ.")
    end_session(actor, one_liner="Queue chosen")
    set_aside(actor, kind="chunk", id=str(chunk.pk))

    set_aside(actor, kind="session", id=session.handle)

    assert list_sessions(actor).total == 0
    assert list_sessions(actor, include_set_aside=True).total == 1
    assert search_chunks(actor, query="redis").items == []
    assert "Queue chosen" not in get_context(actor).markdown
    restore(actor, kind="session", id=session.handle)
    assert search_chunks(actor, query="redis").total == 1
    assert "Queue chosen" in get_context(actor).markdown
    assert search_chunks(actor, query="rabbitmq").items == []
    restore(actor, kind="chunk", id=str(chunk.pk))
    assert search_chunks(actor, query="rabbitmq").total == 1


def test_facts_notes_and_hypotheses_go_and_come_back(actor):
    fact = store_fact(actor, category="identity", fact="Name is Lumen.").fact
    note = set_note(actor, domain="email", key="k", content="Package rule")
    belief = add_hypothesis(actor, hypothesis="It is the cache.")
    things = {"fact": fact, "note": note, "hypothesis": belief}

    for kind, thing in things.items():
        set_aside(actor, kind=kind, id=str(thing.pk))

    assert (list_facts(actor).total, get_notes(actor).total, list_hypotheses(actor).total) == (0, 0, 0)
    assert search_notes(actor, query="package").items == []
    for kind, thing in things.items():
        restore(actor, kind=kind, id=str(thing.pk))
    assert (list_facts(actor).total, get_notes(actor).total, list_hypotheses(actor).total) == (1, 1, 1)


@pytest.mark.parametrize("kind", ["fact", "session", "chunk", "note", "hypothesis"])
def test_nobody_sets_aside_what_is_not_theirs(kind, actor):
    with pytest.raises(NotFound):
        set_aside(actor, kind=kind, id="deadbeef" if kind == "session" else "12345")
    if kind == "chunk":
        with pytest.raises(Invalid) as refusal:
            set_aside(actor, kind=kind, id="twelve")
        assert refusal.value.problems[0]["field"] == "id"


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


def test_the_page_says_what_goes_with_a_session_and_leads_from_a_page_that_is_gone_to_the_list(browser, actor):
    session, fact = make_session(actor, is_open=True), make_fact(actor)
    for _ in range(2):
        make_chunk(actor, session=session)
    own_page = reverse("memory-fact", args=[fact.pk])

    asked = browser.get(reverse("memory-erase", args=["session", session.pk]))
    erased = browser.post(reverse("memory-erase", args=["fact", fact.pk]) + f"?next={own_page}")

    assert "its summary and 2 chunks go with it" in asked.text
    assert erased.url == reverse("memory-facts")


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

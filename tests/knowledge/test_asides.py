"""Setting aside and restoring: out of sight, on record, and back."""

import pytest

from bigmind.core.errors import Invalid, NotFound
from knowledge.context.sessions import end_session, list_sessions, start_session
from knowledge.context.start_context import get_context
from knowledge.conversation.chunks import flag_important
from knowledge.memory.archive import restore, set_aside
from knowledge.memory.facts import list_facts, store_fact
from knowledge.memory.hypotheses import add_hypothesis, list_hypotheses
from knowledge.memory.notes import get_notes, set_note
from knowledge.recall.recall import search_chunks, search_notes
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


def test_a_session_set_aside_takes_its_chunks_along_and_brings_them_back(actor):
    session = start_session(actor).session
    flag_important(actor, content="We chose Redis.")
    end_session(actor, one_liner="Queue chosen")

    set_aside(actor, kind="session", id=session.handle)

    assert list_sessions(actor).total == 0
    assert list_sessions(actor, include_set_aside=True).total == 1
    assert search_chunks(actor, query="redis").items == []
    assert "Queue chosen" not in get_context(actor).markdown
    restore(actor, kind="session", id=session.handle)
    assert search_chunks(actor, query="redis").total == 1
    assert "Queue chosen" in get_context(actor).markdown


def test_a_chunk_set_aside_stays_so_when_its_session_is_restored(actor):
    session = start_session(actor).session
    chunk = flag_important(actor, content="We chose Redis.")
    set_aside(actor, kind="chunk", id=str(chunk.pk))
    set_aside(actor, kind="session", id=session.handle)

    restore(actor, kind="session", id=session.handle)

    assert search_chunks(actor, query="redis").items == []
    restore(actor, kind="chunk", id=str(chunk.pk))
    assert search_chunks(actor, query="redis").total == 1


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
def test_nobody_sets_aside_what_is_not_theirs(kind):
    id = "deadbeef" if kind == "session" else "12345"

    with pytest.raises(NotFound):
        set_aside(make_actor(), kind=kind, id=id)


def test_an_id_that_is_no_number_is_refused_naming_the_field():
    with pytest.raises(Invalid) as refusal:
        set_aside(make_actor(), kind="chunk", id="twelve")

    assert refusal.value.problems[0]["field"] == "id"

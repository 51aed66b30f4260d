"""Other agents of the same user: who is at work, what one leaves for the next, and what was asked in vain before."""

from dataclasses import replace

import pytest

from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.text.hygiene import digest
from bigmind.text.token_counts import count_tokens
from knowledge.context.sessions import end_session, start_session
from knowledge.conversation.chunks import append_chunk
from knowledge.memory.notes import set_note
from knowledge.models import Note
from tests.capture.hooking import HookedClient
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db

GIRAFFE = "Which giraffe won the regatta of Zanzibar?"


@pytest.fixture
def actor():
    return make_actor()


def _search(actor, query, operation="memory_semantic_search"):
    return perform(CATALOGUE[operation], actor, {"query": query}, transport="mcp").markdown()


def test_a_conversation_is_told_which_others_are_at_work_in_its_project(actor):
    one = HookedClient(actor.user)
    one.start()
    one.prompt("Rename the table of invoices, please.")
    HookedClient(actor.user, key=one.key).start(repository="depot")

    context = HookedClient(actor.user, "codex", key=one.key).start()

    assert "Also at work in this project now" in context
    assert "Rename the table of invoices, please." not in context
    assert context.count("- claude-code, session") == 1


def test_another_user_at_work_in_the_same_project_is_not_told(actor):
    HookedClient(make_actor().user).start()

    assert "Also at work" not in HookedClient(actor.user).start()


def test_a_note_that_one_agent_leaves_reaches_the_next_session_of_the_project_in_another_client(actor):
    set_note(actor, domain="handover", key="Freight API", content="The index is built; the backfill is at row 4,000.")

    elsewhere = HookedClient(actor.user, "codex").start(repository="depot")
    context = HookedClient(actor.user, "gemini-cli").start()

    assert "backfill is at row" not in elsewhere.partition("Left for you")[2]
    assert "Left for you by the session before: The index is built; the backfill is at row 4,000." in context
    assert Note.objects.get().expires_at is not None


def test_what_stands_beside_the_context_keeps_within_its_budget(actor):
    for number in range(80):
        make_fact(actor, f"Service {number} answers on port {8000 + number} and writes to its own schema.")
    set_note(actor, domain="handover", key="next", content="Go on with the backfill. " * 100)
    for client in ("a", "b", "c", "d"):
        start_session(make_agent(actor.user, client), project="freight-api")

    outcome = perform(CATALOGUE["memory_start_session"], actor, {"project": "freight-api"}, transport="mcp")

    assert count_tokens(outcome.markdown()) <= 1_300


@pytest.mark.parametrize("operation", ["memory_recall", "memory_semantic_search"])
def test_a_question_that_found_nothing_is_answered_so_the_second_time_in_a_conversation(actor, operation):
    agent = replace(make_agent(actor.user, "claude-code"), conversation=digest("one"))
    start_session(agent)

    first, second = (_search(agent, GIRAFFE, operation) for _ in range(2))
    other = replace(agent, conversation=digest("two"))
    start_session(other)

    assert "Asked before" not in first
    assert "Asked before in this conversation, and nothing was stored about it since." in second
    assert "Asked before" not in _search(other, GIRAFFE, operation)


def test_what_was_stored_meanwhile_is_found(actor):
    agent = replace(make_agent(actor.user, "claude-code"), conversation=digest("one"))
    start_session(agent)
    _search(agent, GIRAFFE)
    make_fact(actor, "The giraffe Melman won the regatta of Zanzibar.")

    assert "Melman" in _search(agent, GIRAFFE)


def test_what_an_agent_writes_after_its_session_was_ended_elsewhere_is_kept_in_it(actor):
    agent = replace(make_agent(actor.user, "claude-code"), conversation=digest("one"))
    session = start_session(agent).session
    end_session(actor, session_id=str(session.pk), one_liner="Ended on the page.")

    assert append_chunk(agent, role="assistant", content="Later.").session == session

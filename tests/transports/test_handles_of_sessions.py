"""A session is named by its handle wherever something of yours is, whatever an argument calls its kind."""

from typing import Any

import pytest

from accounts.actor import Actor
from bigmind.core.errors import Invalid
from bigmind.core.operations import Effect, Operation
from bigmind.operations import CATALOGUE
from knowledge.context.sessions import end_session
from knowledge.conversation.current_sessions import begin_session
from knowledge.kinds import KINDS
from knowledge.models import Feedback, Kind, Session
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


def call(actor: Actor, name: str, **sent: Any) -> Any:
    """Call an operation as an agent does."""
    operation = CATALOGUE[name]
    return operation.call(actor, **operation.accept(operation.forgive(sent)))


def make_session(actor: Actor) -> Session:
    """Make a session that ended."""
    session = begin_session(actor)
    end_session(actor, summary="Webhooks go through an outbox.", one_liner="Outbox", outcome="Done.")
    session.refresh_from_db()
    return session


WRITTEN = ["S{0}", "s{0}", "[S{0}]", "session {0}", "session:{0}", "summary {0}", "summary:S{0}"]


KINDS_SENT = [{}, {"kind": "session"}, {"kind": "summary"}, {"kind": "Session"}]


@pytest.mark.parametrize(
    ("written", "kind"), [*zip(WRITTEN, [{}] * len(WRITTEN), strict=True), *(("S{0}", kind) for kind in KINDS_SENT[1:])]
)
def test_feedback_takes_a_session_by_its_handle(written: str, kind: dict[str, str]) -> None:
    actor = make_actor()
    session = make_session(actor)

    call(actor, "memory_feedback", id=written.format(session.number), verdict="useful", **kind)

    assert Feedback.objects.get().source_id == str(session.pk)


@pytest.mark.parametrize("kind", KINDS_SENT[:3])
def test_a_session_is_set_aside_and_restored_by_its_handle(kind: dict[str, str]) -> None:
    actor = make_actor()
    session, handle = make_session(actor), "session 1"

    aside = call(actor, "memory_set_aside", id=handle, **kind)
    back = call(actor, "memory_restore", id=handle, **kind)

    assert (aside.id, aside.in_view) == (str(session.pk), False)
    assert (back.id, back.in_view) == (str(session.pk), True)


@pytest.mark.parametrize("id", ["S1", "s1", "[S1]", "1"])
def test_a_program_that_converts_nothing_finds_it_as_well(id: str) -> None:
    actor = make_actor()
    session = make_session(actor)

    assert KINDS[Kind.SUMMARY].of_id(actor.user, id).get() == session


def test_nobody_reaches_a_session_of_somebody_else_by_a_handle() -> None:
    make_session(make_actor())

    assert not KINDS[Kind.SUMMARY].of_id(make_actor().user, "S1").exists()


@pytest.mark.parametrize("named", ["session_id", "source_session", "session"])
def test_a_session_that_is_sent_along_is_no_mistake_where_no_argument_takes_one(named: str) -> None:
    actor = make_actor()
    session = begin_session(actor)
    call(actor, "memory_store_fact", category="decision", fact="Lies.")
    today = begin_session(actor)

    refusals = {
        name: message
        for name, operation in CATALOGUE.items()
        if operation.effect is Effect.WRITE
        if (message := _refusal_of(operation, {named: session.handle}, named))
    }
    corrected = call(actor, "memory_correct_fact", fact_id=1, fact="Truth.", **{named: today.handle})

    assert refusals == {}
    assert (corrected.fact, corrected.session_handle) == ("Truth.", today.handle)


def _refusal_of(operation: Operation, sent: dict[str, str], named: str) -> str:
    """Return what a call is refused for, as far as it is for this argument."""
    try:
        operation.accept(operation.forgive(sent))
    except Invalid as refusal:
        return refusal.message if named in refusal.message else ""
    return ""


@pytest.mark.parametrize("name", ["memory_vacuum", "memory_list_facts", "memory_recall"])
def test_a_session_that_would_say_which_part_is_meant_is_refused_and_never_passed_over(name: str) -> None:
    operation = CATALOGUE[name]

    assert "session_id" in _refusal_of(operation, {"session_id": "S1", "query": "ropes"}, "session_id")

"""What is written down after a reply: ledgers, in a process that serves."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.actor import Actor
from accounts.models import Call
from bigmind.core.after_reply import AFTER_REPLY
from bigmind.gate import Outcome, perform
from bigmind.operations import CATALOGUE
from knowledge.indexing.embedding import embed_pending
from knowledge.models import AskedQuestion, Fact, Receipt, ReceiptText, Serving, UnansweredQuestion
from tests.factories import make_agent, make_user
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent() -> Actor:
    """An agent at work in a conversation whose session has begun."""
    agent = replace(make_agent(make_user(), "claude-code"), conversation="one")
    ask(agent, "memory_start_session")
    return agent


@pytest.fixture
def serving() -> Iterator[None]:
    """A process that serves: ledgers are written after the reply."""
    with AFTER_REPLY.gather():
        yield
    AFTER_REPLY.write()


def ask(actor: Actor, name: str, **arguments: object) -> Outcome:
    """Perform an operation as an agent does."""
    return perform(CATALOGUE[name], actor, arguments, transport="mcp")


def test_a_reply_writes_nothing_and_its_ledgers_follow(agent: Actor, serving: None) -> None:
    make_fact(agent, "The door has a code.")
    embed_pending()

    with CaptureQueriesContext(connection) as queries:
        ask(agent, "memory_recall", query="the code of the door")

    assert not [one for one in queries if "INSERT" in one["sql"] or "UPDATE" in one["sql"]]
    assert not Serving.objects.exists()

    AFTER_REPLY.write()

    assert [one.kind for one in Serving.objects.all()] == ["fact"]
    assert len(Receipt.objects.get().recalls) == 1
    assert AskedQuestion.objects.filter(how="recall").count() == 1
    assert Call.objects.filter(operation="memory_recall").exists()


def test_the_next_question_of_a_conversation_knows_the_last_one(agent: Actor, serving: None) -> None:
    make_fact(agent, "The door has a code.")
    first = ask(agent, "memory_recall", query="Who feeds the aunt's parrot?")

    second = ask(agent, "memory_recall", query="Who feeds the aunt's parrot?")

    assert not first.value.model_dump().get("asked_before")
    assert UnansweredQuestion.objects.count() == 1
    assert second.value.model_dump()["asked_before"]


def test_an_end_that_names_what_was_used_counts_what_was_just_sent(agent: Actor, serving: None) -> None:
    fact = make_fact(agent, "The door has a code.")
    other = make_fact(agent, "The door is green.")
    ask(agent, "memory_recall", query="the code of the door")

    ask(agent, "memory_end_session", one_liner="Opened the door", used=[f"F{fact.number}"])

    assert Serving.objects.get(source_id=str(fact.pk)).cited
    assert Serving.objects.get(source_id=str(other.pk)).answered


def test_what_is_erased_at_once_leaves_no_line_behind(agent: Actor, serving: None) -> None:
    fact = make_fact(agent, "The door has a code.")
    ask(agent, "memory_recall", query="the code of the door")

    ask(agent, "memory_erase_fact", fact_id=fact.number)
    AFTER_REPLY.write()

    assert not ReceiptText.objects.filter(text__contains="door has a code").exists()


def test_what_another_process_erased_meanwhile_leaves_no_line_behind(agent: Actor, serving: None) -> None:
    fact = make_fact(agent, "The door has a code.")
    ask(agent, "memory_recall", query="the code of the door")
    Fact.objects.filter(pk=fact.pk).delete()

    AFTER_REPLY.write()

    assert not ReceiptText.objects.filter(text__contains="door has a code").exists()


def test_what_is_rolled_back_was_never_sent(agent: Actor, serving: None) -> None:
    make_fact(agent, "The door has a code.")

    with transaction.atomic():
        ask(agent, "memory_recall", query="the code of the door")
        transaction.set_rollback(True)
    AFTER_REPLY.write()

    assert not Serving.objects.exists()


def test_a_ledger_that_fails_takes_no_other_with_it(agent: Actor, serving: None) -> None:
    written: list[int] = []

    def fail(rows: object) -> None:
        raise ValueError("broken")

    AFTER_REPLY.add(fail, 1)
    AFTER_REPLY.add(written.extend, 2)
    AFTER_REPLY.add(lambda rows: written.extend(rows), 3)
    AFTER_REPLY.write()

    assert written == [2, 3]


def test_rows_of_a_user_who_is_gone_are_dropped(agent: Actor, serving: None) -> None:
    make_fact(agent, "The door has a code.")
    ask(agent, "memory_recall", query="the code of the door")
    agent.user.delete()

    AFTER_REPLY.write()

    assert not Serving.objects.exists()

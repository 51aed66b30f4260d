"""A second conversation, with the first left open: what it stores is its own, in the clients that people use (T40)."""

import pytest

from accounts.keys import NewKey
from knowledge.models import Chunk, Fact, Session
from tests.clients.dialects import Step
from tests.clients.installed import APART, RealClient

pytestmark = [pytest.mark.clients, pytest.mark.django_db(transaction=True)]


def _work(run: str) -> list[Step]:
    return [
        Step("memory_start_session", {"project": "ferry"}),
        Step("memory_store_fact", {"category": "decision", "fact": f"The ferry of {run} has two decks."}),
        Step("memory_flag_important", {"content": f"The captain of {run} is Ada."}),
    ]


@pytest.mark.parametrize("client", APART, indirect=True, ids=lambda kind: kind.name)
def test_the_second_conversation_stores_with_the_first_left_open(client: RealClient, key: NewKey) -> None:
    client.model.play(*_work("Monday"))
    client.ask("Good morning.")
    client.model.play(*_work("Tuesday"), Step("memory_end_session", {"one_liner": "Counted the decks"}))
    run = client.ask("Good morning.")

    started, stored, flagged, ended = (client.unwrap(reply) for reply in client.replies)
    assert "Session `S2`, project ferry, is open" in started, run
    for reply in (stored, flagged, ended):
        assert "ession `S2`" in reply
    user = key.key.user
    first, second = Session.objects.filter(user=user).order_by("number")
    assert [fact.source_session for fact in Fact.objects.filter(user=user).order_by("pk")] == [first, second]
    assert [chunk.session for chunk in Chunk.objects.filter(user=user).order_by("pk")] == [first, second]
    assert (first.is_open, second.one_liner) == (True, "Counted the decks")

"""docs/first-conversation.md in the clients that people use: each day is a conversation of its own."""

import pytest

from accounts.connecting.server_config import ServerConfig
from accounts.people.first_run import first_run
from tests.clients.dialects import Step
from tests.clients.installed import RealClient
from tests.first_conversation import days
from tests.serving import Served

pytestmark = [pytest.mark.clients, pytest.mark.django_db(transaction=True, reset_sequences=True)]


def test_every_model_reads_the_answers_of_the_page(client: RealClient, served: Served) -> None:
    client.connect(ServerConfig(served.url, first_run("lumen").key_text, ("all",)))

    for day in days():
        client.model.play(*(Step(turn.operation, turn.as_json) for turn in day))
        run = client.ask("Good morning.")

        replies = client.replies
        assert len(replies) == len(day), run
        for turn, reply in zip(day, replies, strict=True):
            assert not turn.missing_from(client.unwrap(reply)), reply

"""What the models of other clients read: the same words."""

from pathlib import Path

import pytest

from accounts.connecting.server_config import ServerConfig
from accounts.keys import NewKey
from bigmind.transports.mcp.server import server_instructions
from tests.clients.conftest import new_client
from tests.clients.dialects import Step
from tests.clients.installed import RealClient
from tests.clients.model import ModelStandIn
from tests.clients.other_clients import OTHER_CLIENTS
from tests.serving import Served

pytestmark = pytest.mark.clients


@pytest.fixture(params=OTHER_CLIENTS, ids=lambda client: client.name)
def other(
    request: pytest.FixtureRequest, served: Served, key: NewKey, model: ModelStandIn, tmp_path: Path
) -> RealClient:
    """Each client in turn, connected as its documentation says."""
    client = new_client(request.param, model, tmp_path)
    client.connect(ServerConfig(served.url, key.text))
    return client


def test_the_model_stores_a_fact_and_reads_what_became_of_it(other: RealClient) -> None:
    fact = {"category": "preference", "fact": "Prefers tabs."}
    other.model.play(
        Step("memory_start_session", {"project": "freight-api"}),
        Step("memory_store_fact", fact),
        Step("memory_list_facts", {}),
    )

    run = other.ask()

    assert len(other.replies) == 3, run
    started, stored, listed = (other.unwrap(reply) for reply in other.replies)
    assert started.startswith("## 🧠 BigMind Context")
    assert stored.startswith("Stored: fact")
    assert "Prefers tabs." in listed
    assert (_words(server_instructions()) in _words(other.model.last.read)) == other.shows_instructions


def _words(text: str) -> str:
    return " ".join(text.split())

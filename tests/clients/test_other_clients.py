"""What the models of other clients read: the same words."""

from pathlib import Path

import pytest

from accounts.connecting.server_config import ServerConfig
from accounts.keys import NewKey
from bigmind.transports.mcp.server import server_instructions
from knowledge.models import CaptureMode, CapturePolicy, Session
from tests.clients.conftest import new_client
from tests.clients.dialects import Step
from tests.clients.installed import RealClient
from tests.clients.model import ModelStandIn
from tests.clients.other_clients import OTHER_CLIENTS, OpenCode
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


def test_the_model_of_opencode_knows_before_any_call_and_writes_into_its_session(served, key, model, tmp_path):
    CapturePolicy.objects.create(user=key.key.user, mode=CaptureMode.AUTOMATIC)
    client = new_client(OpenCode, model, tmp_path)
    before = client.home.files()
    client.connect_with_hooks(served.url, key.text)
    decision, prompt = "Invoices are numbered by branch.", "We decide how invoices are numbered today."
    model.play(Step("memory_flag_important", {"content": decision, "flag_reason": "Decided."}))
    client.ask(prompt)
    first = Session.objects.get()
    model.play()

    client.ask("How are invoices numbered?")

    assert (first.project, first.is_open) == ("freight-api", False)
    assert prompt in first.one_liner
    said = "".join(first.chunks.values_list("content", flat=True))
    assert decision in said
    assert prompt in said
    assert decision in model.first.read
    client.disconnect()
    left = client.home.files()
    assert {name: left.get(name) for name in before} == before
    assert not [name for name in left if "bigmind" in name]

"""Every revision of the protocol that today's clients speak, as it looks on the wire."""

from pathlib import Path

import pytest

from tests.copies import serving_copy
from tests.factories import make_key, make_user
from tests.serving import Served
from tests.transports.mcp_wire import HANDSHAKE_REVISIONS, STATELESS_REVISION, Wire, envelope, text_of

EACH_HANDSHAKE = pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)


@EACH_HANDSHAKE
def test_the_handshake_agrees_on_the_revision_that_was_asked_for(served: Served, revision: str) -> None:
    wire = Wire(served, make_key().text, revision=revision)

    handshake = wire.initialize()

    assert handshake["protocolVersion"] == revision
    assert handshake["serverInfo"]["name"] == "bigmind"
    assert "memory_start_session" in handshake["instructions"]


@EACH_HANDSHAKE
def test_tools_work_after_the_handshake(served: Served, revision: str) -> None:
    wire = Wire(served, make_key().text, revision=revision)
    wire.initialize()

    stored = wire.call("memory_store_fact", {"category": "decision", "fact": "Deploys on Tuesdays."})

    assert "Deploys on Tuesdays." in text_of(stored)
    assert text_of(wire.call("memory_list_facts")).count("Deploys on Tuesdays.") == 1


def test_an_unknown_revision_is_answered_with_the_newest_of_its_kind(served: Served) -> None:
    wire = Wire(served, make_key().text, revision="2031-01-01")

    handshake = wire.initialize()

    assert handshake["protocolVersion"] == HANDSHAKE_REVISIONS[-1]


def test_discover_tells_a_stateless_client_what_is_there(served: Served) -> None:
    wire = Wire(served, make_key().text)

    discovered = wire.send("server/discover").json()["result"]

    assert discovered["supportedVersions"] == [STATELESS_REVISION]
    assert {"tools", "prompts", "resources"} <= discovered["capabilities"].keys()
    assert "memory_start_session" in discovered["instructions"]


def test_a_stateless_client_needs_no_session(served: Served) -> None:
    wire = Wire(served, make_key().text)

    response = wire.send("tools/call", {"name": "memory_start_session", "arguments": {}})

    assert "Mcp-Session-Id" not in response.headers
    assert "BigMind Context" in text_of(response.json()["result"])


def test_a_stateless_client_is_told_how_long_the_list_of_tools_is_fresh(served: Served) -> None:
    wire = Wire(served, make_key().text)

    listed = wire.send("tools/list").json()["result"]

    assert listed["ttlMs"] == 60 * 60 * 1000
    assert listed["cacheScope"] == "private"


LISTEN = {
    "jsonrpc": "2.0",
    "id": "l1",
    "method": "subscriptions/listen",
    "params": {"_meta": envelope(STATELESS_REVISION), "notifications": {"resourcesListChanged": True}},
}
LISTEN_HEADERS = {"MCP-Protocol-Version": STATELESS_REVISION, "Mcp-Method": "subscriptions/listen"}


def test_a_listening_client_is_acknowledged(served: Served) -> None:
    wire = Wire(served, make_key().text)

    with wire.http.stream("POST", "/mcp", json=LISTEN, headers=LISTEN_HEADERS) as response:
        first = next(line for line in response.iter_lines() if line.startswith("data:"))

    assert response.headers["Content-Type"].startswith("text/event-stream")
    assert "notifications/subscriptions/acknowledged" in first


@pytest.mark.django_db(transaction=True)
def test_a_listening_client_does_not_hold_up_the_end_of_the_server(tmp_path: Path) -> None:
    with serving_copy(tmp_path / "log.txt") as (served, process):
        wire = Wire(served, make_key().text)
        with wire.http.stream("POST", "/mcp", json=LISTEN, headers=LISTEN_HEADERS) as response:
            lines = response.iter_lines()
            next(line for line in lines if line.startswith("data:"))

            process.terminate()
            last = [line for line in lines if line.startswith("data:")][-1]

        process.wait(timeout=3)
    assert '"id":"l1","result"' in last
    assert "Traceback" not in served.log.read_text()


def test_the_address_may_end_in_a_slash(served: Served) -> None:
    wire = Wire(served, make_key().text, path="/mcp/")

    listed = wire.send("tools/list")

    assert listed.status_code == 200


def test_the_agent_is_known_by_the_name_its_client_gave(served: Served) -> None:
    user = make_user()
    wire = Wire(served, make_key(user).text, revision="2025-06-18")
    wire.initialize()

    wire.call("memory_start_session")

    agent = user.agents.get()
    assert (agent.client_name, agent.client_version) == ("wire", "1.0")


def test_a_client_without_a_name_is_known_by_its_user_agent(served: Served) -> None:
    user = make_user()
    wire = Wire(served, make_key(user).text)
    wire.http.headers["User-Agent"] = "nameless-agent/3.2 (linux)"
    wire.http.headers["X-Agent-Host"] = "build-7"

    wire.call("memory_start_session", **{"io.modelcontextprotocol/clientInfo": None})

    assert str(user.agents.get()) == "nameless-agent 3.2 on build-7"
    assert user.keys.get().last_used_by == "nameless-agent 3.2 on build-7"

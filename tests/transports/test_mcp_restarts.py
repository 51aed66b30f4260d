"""Clients of the handshake revisions go on when their web process is gone: any other serves their connection."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from accounts.models import Agent
from knowledge.models import Chunk
from tests.copies import serving_copy
from tests.factories import make_key, make_user
from tests.serving import Served
from tests.transports.mcp_wire import HANDSHAKE_REVISIONS, Wire, text_of
from tests.transports.windows import Window

CALLS = 8


@pytest.fixture
def two(served: Served, tmp_path: Path) -> Iterator[tuple[Served, Any, Served]]:
    """Two web processes, of which the first can be ended."""
    with serving_copy(tmp_path / "log.txt") as (other, process):
        yield other, process, served


def test_a_real_client_goes_on_at_any_process_and_after_the_end_of_its_own(two: tuple[Served, Any, Served]) -> None:
    first, process, second = two
    user = make_user()
    turns, key = count(), make_key(user).text

    async def run() -> list[bool]:
        only_second = anyio.Event()

        async def balance(request: httpx2.Request) -> None:
            chosen = second if only_second.is_set() or next(turns) % 2 else first
            request.url = request.url.copy_with(port=httpx2.URL(chosen.url).port)

        http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"}, timeout=30, event_hooks={"request": [balance]}
        )
        async with Client(streamable_http_client(first.mcp, http_client=http), mode="legacy") as client:
            window = Window(client)
            await window.start("freight")
            refused = [(await window.call("memory_flag_important", content=f"{n}"))[0] for n in range(CALLS)]
            process.terminate()
            await anyio.to_thread.run_sync(process.wait)
            only_second.set()
            refused += [(await window.call("memory_flag_important", content=f"{n}"))[0] for n in range(CALLS)]
            return refused

    refused = anyio.run(run)

    assert refused == [False] * 2 * CALLS
    assert Chunk.objects.filter(user=user).values("session").distinct().count() == 1
    assert Agent.objects.get(user=user).client_name == "mcp"


def test_every_handshake_revision_survives_the_end_of_its_process(two: tuple[Served, Any, Served]) -> None:
    first, process, second = two
    users = {revision: make_user() for revision in HANDSHAKE_REVISIONS}
    wires = {revision: Wire(first, make_key(user).text, revision=revision) for revision, user in users.items()}
    for wire in wires.values():
        wire.initialize()
        wire.call("memory_start_session", {"project": "freight"})
    process.kill()
    process.wait()

    for revision, wire in wires.items():
        wire.http.base_url = second.url
        kept = wire.call("memory_flag_important", {"content": "Said after the restart."})

        agent = Agent.objects.get(user=users[revision])
        assert "project freight" in text_of(kept), revision
        assert (agent.client_name, agent.client_version) == ("wire", "1.0"), revision


def test_a_client_that_names_no_revision_later_is_answered_in_the_one_agreed_on(served: Served) -> None:
    wire = Wire(served, make_key().text, revision="2024-11-05")
    wire.initialize()
    del wire.http.headers["MCP-Protocol-Version"]

    assert text_of(wire.call("memory_list_facts"))


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_connection_has_no_other_stream_and_nothing_to_end(served: Served, method: str) -> None:
    wire = Wire(served, make_key().text, revision="2025-11-25")
    wire.initialize()

    response = wire.http.request(method, "/mcp")

    assert (response.status_code, response.headers["Allow"]) == (405, "POST")
    assert wire.send("tools/list").status_code == 200


def test_an_id_with_another_letter_is_not_found(served: Served) -> None:
    wire = Wire(served, make_key().text, revision="2025-11-25")
    wire.initialize()
    given = wire.http.headers["Mcp-Session-Id"]

    wire.http.headers["Mcp-Session-Id"] = ("A" if given[0] != "A" else "B") + given[1:]

    assert wire.send("tools/list").status_code == 404

"""Two windows of one client: what is written in the one never lands in the session of the other."""

from contextlib import AsyncExitStack
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from accounts.models import User
from knowledge.models import Chunk, Fact, Hypothesis, Session
from tests.copies import command_of_a_copy
from tests.factories import make_key, make_user
from tests.serving import Served
from tests.transports.windows import Said, Window

FACT = {"category": "decision", "fact": "Deploys on Tuesdays."}


def _client(url: str, key: str, mode: str) -> Client:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30)
    return Client(streamable_http_client(url, http_client=http), mode=mode)


def _stdio(served: Served, key: str, mode: str) -> Client:
    environment = served.environment | {"BIGMIND_API_KEY": key}
    program, *words = command_of_a_copy("mcp")
    return Client(stdio_client(StdioServerParameters(command=program, args=words, env=environment)), mode=mode)


async def _interleave(one: Client, other: Client, *, ids: tuple[str, str] | None) -> dict[str, Any]:
    async with AsyncExitStack() as open_ones:
        clients = [await open_ones.enter_async_context(client) for client in (one, other)]
        metas = [{"sessionId": each} for each in ids] if ids else [None, None]
        a, b = (Window(client, meta) for client, meta in zip(clients, metas, strict=True))
        started = [await a.start("freight"), await b.start("depot")]
        replies = [
            await a.call("memory_flag_important", content="Said in A."),
            await b.call("memory_append_chunk", role="user", content="Said in B."),
            await a.call("memory_store_fact", **FACT),
            await a.call("memory_add_hypothesis", hypothesis="I believe it is the pool."),
            await a.call("memory_end_session", one_liner="The end of A"),
            await a.call("memory_flag_important", content="Said after the end."),
            await b.call("memory_flag_important", content="B goes on."),
        ]
        return {"started": started, "replies": replies}


def _look_at(user: User, seen: dict[str, Any]) -> None:
    a, b = (Session.objects.get(pk=pk) for pk in seen["started"])
    flagged, appended, stored, believed, ended, late, on = seen["replies"]
    assert [chunk.content for chunk in a.chunks.all()] == ["Said in A."]
    assert [chunk.content for chunk in b.chunks.order_by("seq")] == ["Said in B.", "B goes on."]
    assert (Fact.objects.get(user=user).source_session, Hypothesis.objects.get(user=user).session) == (a, a)
    assert (a.one_liner, a.is_open, b.is_open) == ("The end of A", False, True)
    assert late[0]
    assert "memory_start_session" in late[1]
    for refused, text in (flagged, stored, believed, ended):
        assert not refused
        assert a.handle in text
        assert "freight" in text
    for refused, text in (appended, on):
        assert not refused
        assert f"session `{b.handle}`, project depot" in text


@pytest.mark.parametrize(("mode", "ids"), [("legacy", None), ("auto", ("thread-1", "thread-2"))])
def test_each_window_writes_to_the_session_it_started(served: Served, mode: str, ids: tuple[str, str] | None) -> None:
    user = make_user()
    key = make_key(user).text

    seen = anyio.run(lambda: _interleave(_client(served.mcp, key, mode), _client(served.mcp, key, mode), ids=ids))

    _look_at(user, seen)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_each_process_over_stdio_writes_to_the_session_it_started(served: Served, mode: str) -> None:
    user = make_user()
    key = make_key(user).text

    seen = anyio.run(lambda: _interleave(_stdio(served, key, mode), _stdio(served, key, mode), ids=None))

    _look_at(user, seen)


WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory_flag_important", {"content": "Whose is it?"}),
    ("memory_append_chunk", {"role": "user", "content": "Whose is it?"}),
    ("memory_end_session", {"one_liner": "Whose is it?"}),
    ("memory_store_fact", FACT),
    ("memory_add_hypothesis", {"hypothesis": "I believe that it is mine."}),
    ("memory_promote_to_global", {"category": "standard", "title": "Whose", "content": "Whose is it?"}),
)


def test_a_window_that_started_nothing_is_refused_with_the_list_and_may_name_one(served: Served) -> None:
    key = make_key().text

    async def run() -> tuple[list[str], list[Said], Said]:
        async with _client(served.mcp, key, "auto") as client:
            window = Window(client)
            started = [await window.start("freight"), await window.start("depot")]
            refusals = [await window.call(tool, **arguments) for tool, arguments in WRITES]
            named = await window.call("memory_flag_important", content="This one.", session_id=started[0][:8])
            return started, refusals, named

    started, refusals, named = anyio.run(run)

    for refused, text in refusals:
        assert refused
        assert f"{started[0][:8]} (freight, started 20" in text
        assert f"{started[1][:8]} (depot, started 20" in text
        assert "session_id" in text
        assert "memory_start_session" in text
    assert not named[0]
    assert Chunk.objects.get().session_id.hex == started[0].replace("-", "")
    assert not Fact.objects.exists()


def test_a_fact_of_a_project_belongs_to_the_only_session_that_is_open_in_it(served: Served) -> None:
    key = make_key().text

    async def run() -> tuple[list[str], Said]:
        async with _client(served.mcp, key, "auto") as client:
            window = Window(client)
            started = [await window.start("freight"), await window.start("depot")]
            return started, await window.call("memory_store_fact", **FACT, project="depot")

    started, (refused, text) = anyio.run(run)

    assert not refused
    assert f"session `{started[1][:8]}`, project depot" in text


def test_the_only_open_session_is_meant_but_never_in_silence(served: Served) -> None:
    key = make_key().text

    async def run() -> tuple[str, Said]:
        async with _client(served.mcp, key, "legacy") as client:
            started = await Window(client).start("freight")
        async with _client(served.mcp, key, "legacy") as client:
            return started, await Window(client).call("memory_flag_important", content="A new window.")

    started, (refused, text) = anyio.run(run)

    assert not refused
    assert f"session {started[:8]}, the only one open, which another connection started" in text
    assert "call memory_start_session" in text

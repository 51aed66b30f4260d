"""Two windows of one client: what is written in the one never lands in the session of the other."""

from contextlib import AsyncExitStack
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from accounts.models import User
from knowledge.models import Fact, Hypothesis, Session
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


def _look_at(user: User, seen: dict[str, Any], *, is_named: bool = False) -> None:
    a, b = (Session.objects.get(user=user, number=int(handle[1:])) for handle in seen["started"])
    flagged, appended, stored, believed, ended, late, on = seen["replies"]
    # A conversation goes on behind its end; on a connection the next one may have begun.
    behind = ["Said after the end."] if is_named else []
    assert [chunk.content for chunk in a.chunks.order_by("seq")] == ["Said in A.", *behind]
    assert [chunk.content for chunk in b.chunks.order_by("seq")] == ["Said in B.", "B goes on."]
    assert (Fact.objects.get(user=user).source_session, Hypothesis.objects.get(user=user).session) == (a, a)
    assert (a.one_liner, a.is_open, b.is_open) == ("The end of A", False, True)
    assert not late[0]
    assert ("had ended" if is_named else "No session was open") in late[1]
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

    _look_at(user, seen, is_named=bool(ids))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_each_process_over_stdio_writes_to_the_session_it_started(served: Served, mode: str) -> None:
    user = make_user()
    key = make_key(user).text

    seen = anyio.run(lambda: _interleave(_stdio(served, key, mode), _stdio(served, key, mode), ids=None))

    _look_at(user, seen)


def test_a_fact_of_a_project_belongs_to_the_only_session_that_is_open_in_it(served: Served) -> None:
    key = make_key().text

    async def run() -> tuple[list[str], Said]:
        async with _client(served.mcp, key, "auto") as client:
            window = Window(client)
            started = [await window.start("freight"), await window.start("depot")]
            return started, await window.call("memory_store_fact", **FACT, project="depot")

    started, (refused, text) = anyio.run(run)

    assert not refused
    assert f"session `{started[1]}`, project depot" in text

"""What a call over MCP adds to the function, and how many calls a second are served."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from statistics import median
from time import perf_counter, sleep
from typing import Any

import httpx
from django.conf import settings

from accounts.keys import create_key
from benchmarks.memories import remember_much
from benchmarks.rows import row, took
from knowledge.memory.facts import list_facts

Call = Callable[[str, dict[str, Any]], Awaitable[None]]

HANDSHAKE = "2025-11-25"
CONNECTIONS = 16
SECONDS = 6.0
TIMES = 300


def measure() -> list[str]:
    """Measure a read tool over one connection, and calls a second over 16 against the bare SDK."""
    actor = remember_much("caller", facts=500, sessions=20)
    key = create_key(actor.user).text
    with served("bigmind.asgi:application") as url:
        over_mcp, direct = asyncio.run(
            _one_connection(url, key, "memory_list_facts", lambda: list_facts(actor, limit=20))
        )
        ours = asyncio.run(_calls_a_second(url, key, "memory_get_profile"))
    with served("benchmarks.bare_sdk:application") as url:
        bare = asyncio.run(_calls_a_second(url, key, "echo"))
    added, share = over_mcp - direct, ours / bare
    return [
        row(
            "`memory_list_facts` over MCP, one connection, added to the function called directly",
            f"{added:.1f} ms",
            "≤ 5 ms",
            f"p50 {over_mcp:.1f} ms against {direct:.1f} ms, asked in turns",
            met=added <= 5,
        ),
        row(
            f"tool calls a second over {CONNECTIONS} connections, against the bare SDK serving one tool",
            f"{share:.0%}",
            "≥ 70 %",
            f"{ours:.0f} against {bare:.0f} calls/s; the load comes from the same machine",
            met=share >= 0.7,
        ),
    ]


@contextmanager
def served(application: str) -> Iterator[str]:
    """Serve an ASGI application in a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", application, "--http", "h11", "--lifespan", "on", "--port", str(port)]
    environment = {**os.environ, "BIGMIND_PORT": str(port), "BIGMIND_DATABASE_URL": _database_url()}
    process = subprocess.Popen([*command, "--no-access-log", "--log-level", "warning"], env=environment)
    try:
        _wait_for(port)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def _database_url() -> str:
    from bigmind.embedded.cluster import Cluster
    from bigmind.environment import environment

    return Cluster(environment().home).url


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            httpx.get(f"http://localhost:{port}/healthz")
            return
        except httpx.TransportError:
            sleep(0.1)
    raise TimeoutError("the server did not start")


@asynccontextmanager
async def agent(url: str, key: str) -> AsyncIterator[Call]:
    """Open a session, and give what calls a tool in it."""
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
    async with httpx.AsyncClient(headers=headers, timeout=30) as client:
        answer = await client.post(url, json=_HELLO)
        client.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        client.headers["MCP-Protocol-Version"] = HANDSHAKE
        await client.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})

        async def call(tool: str, arguments: dict[str, Any]) -> None:
            answer = await client.post(url, json=_request("tools/call", {"name": tool, "arguments": arguments}))
            assert not answer.json()["result"].get("isError"), answer.text

        yield call


def _request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


_CLIENT = {"name": "benchmark", "version": "1"}
_HELLO = _request("initialize", {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT})


async def in_turns(call: Callable[[], Awaitable[None]], directly: Callable[[], object]) -> tuple[float, float]:
    """Return how many milliseconds a call takes, and how many what is done directly, a thread of this process doing it.

    In turns, so that both find the machine alike: a process that has slept for some milliseconds is slower than one
    that is asked without end, and PostgreSQL's is one.
    """
    began = perf_counter()
    await call()
    called = perf_counter() - began
    return called * 1000, await asyncio.to_thread(took, directly)


async def _one_connection(url: str, key: str, tool: str, directly: Callable[[], object]) -> tuple[float, float]:
    async with agent(url, key) as call:
        taken = [await in_turns(lambda: call(tool, {}), directly) for _ in range(TIMES)]
    called, direct = zip(*taken[TIMES // 10 :], strict=True)
    return median(called), median(direct)


async def _calls_a_second(url: str, key: str, tool: str) -> float:
    async with AsyncExitStack() as opened:
        calls = [await opened.enter_async_context(agent(url, key)) for _ in range(CONNECTIONS)]
        ends, done = perf_counter() + SECONDS, 0

        async def go_on(call: Call) -> None:
            nonlocal done
            while perf_counter() < ends:
                await call(tool, {})
                done += 1

        started = perf_counter()
        await asyncio.gather(*map(go_on, calls))
        took = perf_counter() - started
    assert settings.RATE_LIMIT_PER_MINUTE == 0
    return done / took

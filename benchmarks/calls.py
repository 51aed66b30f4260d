"""What a call over MCP adds to the function, and how many calls a second are served."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter, sleep
from typing import Any

import httpx
from django.conf import settings

from accounts.services.keys import create_key
from benchmarks.memories import remember_much
from benchmarks.rows import milliseconds, row
from knowledge.services.facts import list_facts

HANDSHAKE = "2025-11-25"
CONNECTIONS = 16
SECONDS = 6.0
TIMES = 300


def measure() -> list[str]:
    """Measure a read tool over one connection, and calls a second over 16 against the bare SDK."""
    actor = remember_much("caller", facts=500, sessions=20)
    key = create_key(actor.user).text
    direct = milliseconds(lambda: list_facts(actor, limit=20), times=TIMES)
    with served("bigmind.asgi:application") as url:
        over_mcp = asyncio.run(_one_connection(url, key, "memory_list_facts"))
        ours = asyncio.run(_calls_a_second(url, key, "memory_get_profile"))
    with served("benchmarks.bare_sdk:application") as url:
        bare = asyncio.run(_calls_a_second(url, key, "echo"))
    added, share = over_mcp - direct, ours / bare
    return [
        row(
            "`memory_list_facts` over MCP, one connection, added to the function called directly",
            f"{added:.1f} ms",
            "≤ 5 ms",
            f"p50 {over_mcp:.1f} ms against {direct:.1f} ms",
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
    from bigmind.embedded.postgres import Cluster
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


async def _connected(url: str, key: str) -> httpx.AsyncClient:
    """Return a client whose session has been opened."""
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
    client = httpx.AsyncClient(headers=headers, timeout=30)
    hello = {
        "protocolVersion": HANDSHAKE,
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    }
    answer = await client.post(url, json=_request("initialize", hello))
    client.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
    client.headers["MCP-Protocol-Version"] = HANDSHAKE
    await client.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    return client


def _request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def _call(client: httpx.AsyncClient, url: str, tool: str) -> None:
    answer = await client.post(url, json=_request("tools/call", {"name": tool, "arguments": {}}))
    assert not answer.json()["result"].get("isError"), answer.text


async def _one_connection(url: str, key: str, tool: str) -> float:
    client = await _connected(url, key)
    taken = []
    for _ in range(TIMES):
        started = perf_counter()
        await _call(client, url, tool)
        taken.append((perf_counter() - started) * 1000)
    await client.aclose()
    return median(taken[TIMES // 10 :])


async def _calls_a_second(url: str, key: str, tool: str) -> float:
    clients = [await _connected(url, key) for _ in range(CONNECTIONS)]
    ends = perf_counter() + SECONDS
    done = 0

    async def go_on(client: httpx.AsyncClient) -> None:
        nonlocal done
        while perf_counter() < ends:
            await _call(client, url, tool)
            done += 1

    started = perf_counter()
    await asyncio.gather(*(go_on(client) for client in clients))
    took = perf_counter() - started
    for client in clients:
        await client.aclose()
    assert settings.RATE_LIMIT_PER_MINUTE == 0
    return done / took

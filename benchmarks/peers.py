"""A comparable read and write over MCP: BigMind beside memory servers that a package registry brings.

Each is asked as its users ask it: BigMind over Streamable HTTP, with a key, the others over stdio. `PEERS` names the
folder where they are installed (`make clients` installs them into tests/clients/memories), `PEERS_PYTHON` an
interpreter whose SQLite loads extensions, where that of the environment does not.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from accounts.keys import create_key
from accounts.people.users import add_user
from benchmarks.calls import HANDSHAKE, agent, served
from benchmarks.memories import TEXTS

STORED, TIMES, AT_ONCE, SECONDS = 300, 100, 16, 5.0
FOLDER = Path(os.environ.get("PEERS", Path(__file__).parent.parent / "tests/clients/memories"))

Call = Callable[[str, dict[str, Any]], Awaitable[None]]
Ask = Callable[[int], tuple[str, dict[str, Any]]]


def measure() -> list[str]:
    """Return the rows of the table; a server that is not installed has a row that says so."""
    return [
        "| server | what it does with a text | a write, p50 | a read, p50 | reads a second, 16 at once |",
        "|---|---|---|---|---|",
        asyncio.run(_bigmind(create_key(add_user("peer")).text)),
        *(asyncio.run(_peer(name, *peer)) for name, peer in _PEERS.items()),
    ]


async def _bigmind(key: str) -> str:
    with served("bigmind.asgi:application") as url:
        async with agent(url, key) as call:
            figures = await _figures(
                call,
                lambda number: ("memory_store_fact", {"category": "decision", "fact": _text(number)}),
                lambda number: ("memory_semantic_search", {"query": _question(number)}),
            )
    return _row("BigMind", "a vector by a model, words, secrets, contradictions; PostgreSQL, on disk", figures)


async def _peer(name: str, command: Callable[[], list[str]], does: str, write: Ask, read: Ask) -> str:
    if not all(Path(part).exists() for part in command() if part.startswith("/")):
        return f"| {name} | not installed: `make clients` |  |  |  |"
    async with _over_stdio(command()) as call:
        return _row(name, does, await _figures(call, write, read))


def _row(name: str, does: str, figures: tuple[float, float, float]) -> str:
    write, read, rate = figures
    return f"| {name} | {does} | {write:.1f} ms | {read:.1f} ms | {rate:,.0f} |"


async def _figures(call: Call, write: Ask, read: Ask) -> tuple[float, float, float]:
    """Return the milliseconds of a write and of a read when so many are stored, and how many reads a second."""
    for number in range(STORED):
        await call(*write(number))
    written = [await _took(call, write(STORED + number)) for number in range(TIMES)]
    found = [await _took(call, read(number)) for number in range(TIMES)]
    ends, done = perf_counter() + SECONDS, 0

    async def go_on(number: int) -> None:
        nonlocal done
        while perf_counter() < ends:
            await call(*read(number + done))
            done += 1

    await asyncio.gather(*map(go_on, range(AT_ONCE)))
    return median(written), median(found), done / SECONDS


async def _took(call: Call, asked: tuple[str, dict[str, Any]]) -> float:
    began = perf_counter()
    await call(*asked)
    return (perf_counter() - began) * 1000


def _text(number: int) -> str:
    # Names, not numbers: the same sentence with another number would contradict it.
    name = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    return f"{TEXTS[number % len(TEXTS)].rstrip('.')}, says the team of {name}ville."


def _question(number: int) -> str:
    return ("how are deploys done", "who retries a payment", "pull requests", "python packages")[number % 4]


@asynccontextmanager
async def _over_stdio(command: list[str]) -> AsyncIterator[Call]:
    """Start a server, shake hands, and give what calls a tool of it."""
    with tempfile.TemporaryDirectory() as folder:
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, **_environment_of(Path(folder))},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 24,
        )
        assert process.stdin
        assert process.stdout
        writer, reader = process.stdin, process.stdout
        waiting: dict[int, asyncio.Future[Any]] = {}

        async def listen() -> None:
            async for line in reader:
                answer = json.loads(line)
                if answer.get("id") in waiting:
                    waiting.pop(answer["id"]).set_result(answer)

        def tell(**message: Any) -> None:
            writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

        numbers = iter(range(1, sys.maxsize))

        async def ask(method: str, params: dict[str, Any]) -> Any:
            number = next(numbers)
            waiting[number] = asyncio.get_running_loop().create_future()
            tell(id=number, method=method, params=params)
            return (await asyncio.wait_for(waiting[number], 60))["result"]

        async def call(tool: str, arguments: dict[str, Any]) -> None:
            answer = await ask("tools/call", {"name": tool, "arguments": arguments})
            assert not answer.get("isError"), answer

        listening = asyncio.create_task(listen())
        client = {"name": "benchmark", "version": "1"}
        await ask("initialize", {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": client})
        tell(method="notifications/initialized")
        try:
            yield call
        finally:
            process.terminate()
            await process.wait()
            await listening


def _environment_of(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "MEMORY_FILE_PATH": str(folder / "memory.jsonl"),
        "MCP_MEMORY_BASE_DIR": str(folder),
        "MCP_MEMORY_SQLITE_PATH": str(folder / "memories.db"),
        "PYTHONPATH": ":".join(map(str, (FOLDER / ".venv/lib").glob("python3*/site-packages"))),
    }


def _memory_service() -> list[str]:
    return [os.environ.get("PEERS_PYTHON") or str(FOLDER / ".venv/bin/python"), "-m", "mcp_memory_service.server"]


def _memory_server() -> list[str]:
    return ["node", str(FOLDER / "node_modules/@modelcontextprotocol/server-memory/dist/index.js")]


_PEERS: dict[str, tuple[Callable[[], list[str]], str, Ask, Ask]] = {
    "mcp-memory-service": (
        _memory_service,
        "a vector by hashes, as its model is not in the package; SQLite, on disk",
        lambda number: ("memory_store", {"content": _text(number)}),
        lambda number: ("memory_search", {"query": _question(number)}),
    ),
    "MCP's memory server": (
        _memory_server,
        "nothing: found by its letters; one file, written whole at each change",
        lambda number: (
            "create_entities",
            {"entities": [{"name": f"fact {number}", "entityType": "fact", "observations": [_text(number)]}]},
        ),
        lambda number: ("search_nodes", {"query": _question(number).split()[-1]}),
    ),
}

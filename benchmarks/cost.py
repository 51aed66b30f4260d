"""What a call costs in processor time, and what an idle `bigmind up` needs in memory and from stopped to ready."""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any, NamedTuple

import httpx
import psutil

from accounts.actor import Actor
from accounts.keys import create_key
from benchmarks.calls import Call, agent, free_port, served
from benchmarks.memories import TEXTS, remember_much
from benchmarks.rows import row
from bigmind.embedded.cluster import Cluster
from bigmind.environment import environment
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact

ROOT = Path(__file__).parent.parent
TIMES = 60
IDLE_SECONDS = 20
READY = "Ctrl-C stops it."
MOST_MEMORY, MOST_SECONDS = 320, 2.0
WORDS = ("server", "port", "database", "index", "queue", "worker", "token", "backup", "deploy", "release", "branch")

TIMES_FLOOR = {
    "memory_list_facts": 2,
    "memory_start_session": 4,
    "memory_store_fact": 4,
    "memory_recall": 2,
    "memory_semantic_search": 1.6,
    "kb_search": 1.6,
    "memory_get_context": 3,
    "memory_end_session": 4,
}
"""What an act may cost, as a multiple of the floor (`benchmarks/floor.py`)."""

Asked = Callable[[], Awaitable[Any]]


class Cost(NamedTuple):
    """Milliseconds of one call: processor time of the web process and of PostgreSQL, and until it was answered."""

    web: float
    postgres: float
    answered: float


def measure() -> list[str]:
    """Measure calls over MCP and REST against the floor, one after the other, then a whole instance of its own."""
    actor = _caller()
    key, numbers = create_key(actor.user).text, count()
    with served("benchmarks.floor:application") as url:
        least = asyncio.run(_floor(url, key, numbers))
    with served("bigmind.asgi:application") as url:
        rows = asyncio.run(_calls(url, key, numbers, least))
    return [*rows, *_instance()]


def _caller() -> Actor:
    """Return a person with 900 facts, of which 400 are indexed, and 50 sessions."""
    actor, chance = remember_much("payer", facts=500, sessions=50), random.Random(7)
    words = [*WORDS, *(word.strip(".,") for text in TEXTS for word in text.split())]
    for number in range(400):
        one, other, third = chance.choices(words, k=3)
        store_fact(actor, category="constraint", fact=f"The {one} of {other} number {number} is {third}.")
    while embed_pending():
        pass
    return actor


async def _floor(url: str, key: str, numbers: Iterator[int]) -> dict[str, Cost]:
    web, postgres = _web_process(), psutil.Process(_postmaster())
    async with agent(url, key) as call:
        await call("memory_start_session", {"project": "pi"})
        return {name: await _cost_of(ask, web, postgres) for name, ask in _over_mcp(call, numbers).items()}


async def _calls(url: str, key: str, numbers: Iterator[int], least: Mapping[str, Cost]) -> list[str]:
    web, postgres = _web_process(), psutil.Process(_postmaster())
    async with agent(url, key) as call, _rest(url, key) as rest:
        await call("memory_start_session", {"project": "pi"})  # Agents call in a session, where what they ask is noted.
        return [
            _row(name, await _cost_of(ask, web, postgres), least.get(name))
            for name, ask in {**_over_mcp(call, numbers), **_over_rest(rest, numbers)}.items()
        ]


def _over_mcp(call: Call, numbers: Iterator[int]) -> dict[str, Asked]:
    def fact() -> str:
        return f"Release {next(numbers)} of the router is deployed by hand on day {next(numbers)}."

    return {
        "`memory_list_facts`": lambda: call("memory_list_facts", {}),
        "`memory_semantic_search`": lambda: call("memory_semantic_search", {"query": f"port {next(numbers) % 50}"}),
        "`memory_recall`": lambda: call("memory_recall", {"query": f"token {next(numbers) % 50}"}),
        "`kb_search`": lambda: call("kb_search", {"query": f"deploy {next(numbers) % 50}"}),
        "`memory_store_fact`": lambda: call("memory_store_fact", {"category": "constraint", "fact": fact()}),
        "`memory_get_context`": lambda: call("memory_get_context", {"project": "pi"}),
        "`memory_start_session`": lambda: call("memory_start_session", {"project": "pi", "topics": ["deploys"]}),
        "`memory_end_session`": lambda: call("memory_end_session", {"one_liner": fact(), "outcome": fact()}),
    }


def _over_rest(rest: httpx.AsyncClient, numbers: Iterator[int]) -> dict[str, Asked]:
    def fact() -> dict[str, str]:
        return {"category": "constraint", "fact": f"Version {next(numbers)} of the gateway runs since {next(numbers)}."}

    return {
        "`GET facts/`": lambda: rest.get("facts/"),
        "`POST facts/`": lambda: rest.post("facts/", json=fact()),
    }


def _rest(url: str, key: str) -> httpx.AsyncClient:
    base = f"{url.removesuffix('/mcp')}/api/v1/"
    return httpx.AsyncClient(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=30)


async def _cost_of(ask: Asked, web: psutil.Process, postgres: psutil.Process) -> Cost:
    for _ in range(TIMES):  # By then the sessions of PostgreSQL keep the plans.
        await ask()
    before, taken = (_seconds(web), _seconds_of_children(postgres)), []
    for _ in range(TIMES):
        began = perf_counter()
        await ask()
        taken.append((perf_counter() - began) * 1000)
    own, theirs = _seconds(web) - before[0], _seconds_of_children(postgres) - before[1]
    return Cost(own / TIMES * 1000, theirs / TIMES * 1000, median(taken))


def _row(name: str, cost: Cost, least: Cost | None) -> str:
    beside = f"{cost.postgres:.1f} ms in PostgreSQL; answered within {cost.answered:.1f} ms (p50)"
    what = f"processor time of {name}, in the web process"
    if least is None:
        return row(what, f"{cost.web:.1f} ms", "", beside, met=True)
    times, most = (cost.web + cost.postgres) / (least.web + least.postgres), TIMES_FLOOR.get(name.strip("`"), 0.0)
    floor = f"{least.web:.1f} + {least.postgres:.1f} ms"
    figure = f"{cost.web:.1f} ms: with PostgreSQL {times:.1f} × the floor"
    return row(what, figure, f"≤ {most:g} ×", f"{beside}; the floor {floor}", met=times <= most)


def _web_process() -> psutil.Process:
    return next(child for child in psutil.Process().children() if "uvicorn" in child.cmdline())


def _postmaster() -> int:
    return int((Cluster(environment().home).folder / "postmaster.pid").read_text().split("\n", 1)[0])


def _seconds(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return float(spent.user + spent.system)


def _seconds_of_children(process: psutil.Process) -> float:
    return sum(_seconds(child) for child in process.children())


def _instance() -> list[str]:
    """Measure `bigmind up`: how much memory it needs when idle, and how long it takes from stopped to ready."""
    with tempfile.TemporaryDirectory(prefix="bigmind-idle-") as home:
        with _running(home):
            pass  # The first start makes the database.
        with _running(home) as (process, seconds):
            importing = _seconds(process)
            sleep(IDLE_SECONDS)
            parts = [process, *process.children(recursive=True)]
            used = sum(part.memory_full_info().pss for part in parts) / 2**20
    return [
        row(
            "memory of an idle `bigmind up`",
            f"{used:.0f} MB",
            f"≤ {MOST_MEMORY} MB",
            f"PSS of {len(parts)} processes, PostgreSQL among them",
            met=used <= MOST_MEMORY,
        ),
        row(
            "from stopped to ready",
            f"{seconds:.1f} s",
            f"≤ {MOST_SECONDS:.0f} s",
            f"{importing:.1f} s of processor time in the process that the others are copies of",
            met=seconds <= MOST_SECONDS,
        ),
    ]


@contextmanager
def _running(home: str) -> Iterator[tuple[psutil.Process, float]]:
    """Run an instance; yield its process and how many seconds it took until it said that it is ready."""
    # As for people: what is imported is compiled once, also where those who develop ask for something else.
    left = ("BIGMIND_", "PYTHONDONTWRITEBYTECODE")
    own = {name: value for name, value in os.environ.items() if not name.startswith(left)}
    variables = {**own, "BIGMIND_HOME": home, "BIGMIND_PORT": str(free_port())}
    began = perf_counter()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "up"], env=variables, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        if not any(READY in line for line in process.stdout):
            raise RuntimeError("bigmind up did not start")
        yield psutil.Process(process.pid), perf_counter() - began
    finally:
        process.terminate()
        process.wait()

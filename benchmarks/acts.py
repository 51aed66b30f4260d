"""What each act costs in processor time, as a multiple of what it costs at the least (`benchmarks/floor.py`).

BigMind and the floor serve the same database at the same time, and are called in turns: what else the machine does
meets both. What is written after a reply counts.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from time import sleep
from typing import Any, NamedTuple

import psutil
from django.db import connection

from accounts.actor import Actor
from accounts.keys import create_key
from benchmarks.calls import Call, agent, served
from benchmarks.library import Library, fill
from benchmarks.memories import TEXTS, remember_much
from bigmind.core.after_reply import WRITTEN_AFTER
from bigmind.embedded.cluster import Cluster
from bigmind.environment import environment
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.models import Passage
from knowledge.search.indexes import keep_indexes

OURS, FLOOR = "bigmind.asgi:application", "benchmarks.floor:application"
WARM, ROUNDS, TIMES = 40, 5, 30
"""Calls before it is measured, by which the sessions of PostgreSQL keep their plans; and turns, of so many calls."""
OWN_PASSAGES, SHARED_PASSAGES, MANY_SESSIONS = 20_000, 40_000, 5_000
WORDS = ("server", "port", "database", "index", "queue", "worker", "token", "backup", "deploy", "release", "branch")

TARGETS: dict[str, tuple[float, float]] = {
    "memory_list_facts": (2, 2),
    "memory_start_session": (4, 4),
    "memory_store_fact": (4, 4),
    "memory_recall": (2, 2),
    "memory_semantic_search": (1.6, 1.6),
    "kb_search": (1.6, 2.2),
    "memory_get_context": (3, 3),
    "memory_end_session": (4, 4),
    "memory_flag_important": (3, 3),
}
"""What an act may cost, as a multiple of the floor: with few memories, and with many."""

Ask = Callable[[], Awaitable[None]]


class Cost(NamedTuple):
    """Milliseconds of processor time of one call: of the web process and of PostgreSQL."""

    web: float
    postgres: float


def measure() -> list[str]:
    """Measure each act with 900 facts and 50 sessions."""
    return _table(_acts_of(_with_few()), 0)


def measure_many() -> list[str]:
    """Measure each act with 20,000 facts, 5,000 sessions and 60,000 passages."""
    return _table(_acts_of(_with_many()), 1)


def _table(costs: dict[str, tuple[Cost, Cost]], size: int) -> list[str]:
    rows = [f"| `{name}` | {_cells(costs[name], most[size])} |" for name, most in TARGETS.items()]
    return ["| act | BigMind | the floor | × the floor | target |", "|---|---|---|---|---|", *rows]


def _cells(costs: tuple[Cost, Cost], most: float) -> str:
    own, least = costs
    times = sum(own) / sum(least)
    missed = " (missed)" if times > most else ""
    return " | ".join(
        [*(f"{one.web:.1f} + {one.postgres:.1f}" for one in costs), f"{times:.1f}{missed}", f"≤ {most:g}"]
    )


def _with_few() -> Actor:
    """Return a person with 900 facts, of which 400 are indexed, and 50 sessions."""
    actor, chance = remember_much("payer", facts=500, sessions=50), random.Random(7)
    words = [*WORDS, *(word.strip(".,") for text in TEXTS for word in text.split())]
    for number in range(400):
        one, other, third = chance.choices(words, k=3)
        store_fact(actor, category="constraint", fact=f"The {one} of {other} number {number} is {third}.")
    _embed()
    return actor


def _with_many() -> Actor:
    """Return a person with 20,000 facts and 5,000 sessions, where 40,000 entries are shared."""
    actor, library = remember_much("veteran", facts=0, sessions=MANY_SESSIONS), Library()
    fill(library, OWN_PASSAGES, owners=[actor.user])
    fill(library, SHARED_PASSAGES)
    Passage.objects.update(compared=True)
    keep_indexes()
    _embed()
    return actor


def _embed() -> None:
    while embed_pending():
        pass
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _acts_of(actor: Actor) -> dict[str, tuple[Cost, Cost]]:
    key = create_key(actor.user).text
    with served(FLOOR) as floor, served(OURS) as ours:
        return asyncio.run(_in_turns(key, (ours, OURS), (floor, FLOOR)))


async def _in_turns(key: str, *servers: tuple[str, str]) -> dict[str, tuple[Cost, Cost]]:
    numbers, [(ours, _), (floor, _)] = count(), servers
    async with agent(ours, key) as call_ours, agent(floor, key) as call_floor:
        calls = [call_ours, call_floor]
        for call in calls:
            await call("memory_start_session", {"project": "pi"})  # Agents call in a session.
        acts = [_acts(call, numbers) for call in calls]
        webs = [_process_of(application) for _, application in servers]
        return {name: await _costs(webs, [each[name] for each in acts]) for name in TARGETS}


def _acts(call: Call, numbers: Iterator[int]) -> dict[str, Ask]:
    def text() -> str:
        return f"Release {next(numbers)} of the router is deployed by hand on day {next(numbers)}."

    def ask(name: str, arguments: Callable[[], dict[str, Any]]) -> Ask:
        return lambda: call(name, arguments())

    arguments: dict[str, Callable[[], dict[str, Any]]] = {
        "memory_list_facts": dict,
        "memory_semantic_search": lambda: {"query": f"port {next(numbers) % 50}"},
        "memory_recall": lambda: {"query": f"token {next(numbers) % 50}"},
        "kb_search": lambda: {"query": f"deploy {next(numbers) % 50}"},
        "memory_store_fact": lambda: {"category": "constraint", "fact": text()},
        "memory_get_context": lambda: {"project": "pi"},
        "memory_start_session": lambda: {"project": "pi", "topics": ["deploys"]},
        "memory_end_session": lambda: {"one_liner": text(), "outcome": text()},
        "memory_flag_important": lambda: {"content": text(), "flag_reason": "A decision."},
    }
    return {name: ask(name, made) for name, made in arguments.items()}


async def _costs(webs: list[psutil.Process], asks: list[Ask]) -> tuple[Cost, Cost]:
    postgres = psutil.Process(_postmaster())
    for ask in asks:
        for _ in range(WARM):
            await ask()
    spent = [[0.0, 0.0] for _ in asks]
    for _ in range(ROUNDS):
        for seen, web, ask in zip(spent, webs, asks, strict=True):
            _let_ledgers_be_written()
            before = seconds_of(web), _seconds_of_children(postgres)
            for _ in range(TIMES):
                await ask()
            _let_ledgers_be_written()
            seen[0] += seconds_of(web) - before[0]
            seen[1] += _seconds_of_children(postgres) - before[1]
    ours, floor = (Cost(*[each / ROUNDS / TIMES * 1000 for each in seen]) for seen in spent)
    return ours, floor


def _let_ledgers_be_written() -> None:
    sleep(4 * WRITTEN_AFTER)


def _process_of(application: str) -> psutil.Process:
    return next(child for child in psutil.Process().children() if application in child.cmdline())


def _postmaster() -> int:
    return int((Cluster(environment().home).folder / "postmaster.pid").read_text().split("\n", 1)[0])


def seconds_of(process: psutil.Process) -> float:
    """Return the processor time of a process, in hundredths of a second."""
    return sum(process.cpu_times()[:2])


def _seconds_of_children(process: psutil.Process) -> float:
    return sum(seconds_of(child) for child in process.children() if "autovacuum" not in " ".join(child.cmdline()))

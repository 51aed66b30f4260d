"""T29: one person floods BigMind with searches, imports, exports and look-ups; another one hardly notices."""

import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

import httpx
import pytest

from tests.embedded.instance import ROOT, Instance, command
from tests.torture.scale import FLOODED_SECONDS
from tests.torture.writes import client_of
from tests.transports.mcp_wire import Wire

pytestmark = [pytest.mark.torture, pytest.mark.alone]

MOST = 2.0
ROUNDS = 3
FACTS = 400


Taken = defaultdict[str, list[float]]
"""How long calls took, by their kind."""


def test_another_hardly_notices_a_flood(bigmind: Instance, tmp_path: Path, report: Callable[[str], None]) -> None:
    command(bigmind.home, "user_add", "bea", "--username", "bea", BIGMIND_PORT=str(bigmind.port))
    made = command(bigmind.home, "key_create", "bea", "--json", BIGMIND_PORT=str(bigmind.port))
    bea = json.loads(made.stdout)["key"]
    with client_of(bigmind) as client:
        fill(client, tmp_path / "memory.json")
    quiet, flooded, answers = Taken(list), Taken(list), Counter[str]()
    # In turns, because whatever else this machine does would change between two long times.
    for _ in range(ROUNDS):
        at_work(bigmind, bea, FLOODED_SECONDS / ROUNDS, quiet)
        with flooding(bigmind, tmp_path / "memory.json", answers):
            time.sleep(2)
            at_work(bigmind, bea, FLOODED_SECONDS / ROUNDS, flooded)

    for name, seconds in quiet.items():
        before, meanwhile = p95(seconds), p95(flooded[name])
        report(
            f"{name}: p95 {before * 1000:.0f} ms quiet, {meanwhile * 1000:.0f} ms flooded: {meanwhile / before:.2f} x"
        )
    report(f"the flood was answered with {dict(answers)}")
    all_quiet = [second for seconds in quiet.values() for second in seconds]
    all_flooded = [second for seconds in flooded.values() for second in seconds]
    report(f"all: {p95(all_flooded) / p95(all_quiet):.2f} ×, p50 {p50(all_flooded) / p50(all_quiet):.2f} ×")
    # Imports of one document at once wait for each other's rows, at most as long as a statement may take.
    assert set(answers) <= {"200", "429", "503"}
    assert p95(all_flooded) <= MOST * p95(all_quiet)


def fill(client: httpx.Client, document: Path) -> None:
    """Store facts, and write them to a document that can be imported."""
    for number in range(FACTS):
        fact = {"fact": f"Crane {number} of the quay is oiled on day {number % 7}.", "category": "decision"}
        client.post("facts/", json=fact).raise_for_status()
    document.write_text(client.get("export/").raise_for_status().text)


def at_work(instance: Instance, key: str, seconds: float, taken: Taken) -> None:
    """Work as an agent does, one call after the other; note how long the calls took, by their kind."""
    wire = Wire(instance, key, timeout=120)
    rest = httpx.Client(base_url=f"{instance.url}/api/v1/", headers={"Authorization": f"Bearer {key}"}, timeout=120)
    wire.call("memory_start_session", {})

    def took(name: str, call: Callable[[], object]) -> None:
        began = time.perf_counter()
        call()
        taken[name].append(time.perf_counter() - began)

    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        took("list", lambda: wire.call("memory_list_facts"))
        took("write", lambda: wire.call("memory_flag_important", {"content": f"Seen at {time.time()}."}))
        took("search", lambda: wire.call("memory_semantic_search", {"query": "When is the crane oiled?"}))
        took("REST", lambda: rest.get("facts/").raise_for_status())
        time.sleep(0.1)


@contextmanager
def flooding(instance: Instance, document: Path, answers: Counter[str]) -> Iterator[None]:
    """Let the first user have 64 slow requests under way at any time; note how they were answered."""
    command = [sys.executable, "-m", "tests.torture.flood", instance.url, instance.key, str(document)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        yield
        said, _ = program.communicate("\n", timeout=120)
        answers.update(json.loads(said))


def p95(seconds: list[float]) -> float:
    return quantiles(seconds, n=20)[-1]


def p50(seconds: list[float]) -> float:
    return quantiles(seconds, n=2)[0]

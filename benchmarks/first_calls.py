"""What the first calls after a restart get, and what they cost, where web processes run by themselves."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import perf_counter

import httpx
import psutil

from accounts.connecting.hook_files import HookConfig, HookFolder
from accounts.connecting.hooks import PROGRAM_FILE
from accounts.keys import create_key
from benchmarks.calls import free_port
from benchmarks.memories import remember_much
from benchmarks.rows import row
from bigmind.embedded.cluster import Cluster
from bigmind.environment import environment
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact

ROOT = Path(__file__).parent.parent
CLIENT, READY = "claude-code", "Ctrl-C stops it."
RESTARTS, PROMPTS, WRITES, WARM = 3, 12, 32, 5
MOST_TIMES, MOST_MEMORY = 2.0, 500
LOOK_SECONDS = 0.05


def measure() -> list[str]:
    """Restart the web processes several times: for twelve prompts, one after the other, and for 32 writes at once."""
    actor, numbers = remember_much("newcomer", facts=100, sessions=10), count()
    store_fact(actor, category="decision", fact="Deploys of the router go through the blue queue.")
    while embed_pending():
        pass
    key, answered, colds, warms, peak = create_key(actor.user).text, 0, list[float](), list[float](), 0.0
    with tempfile.TemporaryDirectory(prefix="bigmind-first-") as folder:
        for _ in range(RESTARTS):
            with _web(Path(folder)) as (url, _):
                answered += _prompts(Path(folder), url, key)
            with _web(Path(folder)) as (url, process), _peak_of(process) as seen:
                cold, *warm = asyncio.run(_writes(url, key, numbers))
            colds, warms, peak = [*colds, cold], [*warms, *warm], max(peak, *seen)
    ratio, asked = median(colds) / median(warms), RESTARTS * PROMPTS
    return [
        row(
            "first prompts after a restart that the hook answered in time",
            f"{answered} of {asked}",
            "all",
            f"{PROMPTS} conversations after each of {RESTARTS} restarts, two web processes",
            met=answered == asked,
        ),
        row(
            f"{WRITES} first writes at once over REST, against the same when warm",
            f"{ratio:.2f} ×",
            f"≤ {MOST_TIMES:.0f} ×",
            f"{median(colds):.2f} s against {median(warms):.2f} s",
            met=ratio <= MOST_TIMES,
        ),
        row(
            "most memory of two web processes and their supervisor in these first writes",
            f"{peak:.0f} MB",
            f"≤ {MOST_MEMORY} MB",
            "PSS",
            met=peak <= MOST_MEMORY,
        ),
    ]


@contextmanager
def _web(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Run the web processes; yield their address, and the supervisor's process."""
    port, left = free_port(), ("BIGMIND_", "PYTHONDONTWRITEBYTECODE")
    own = {name: value for name, value in os.environ.items() if not name.startswith(left)}
    own |= {"BIGMIND_HOME": str(folder / "home"), "BIGMIND_PORT": str(port), "BIGMIND_RATE_LIMIT": "0"}
    own["BIGMIND_DATABASE_URL"] = Cluster(environment().home).url
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--only", "web"]
    process = subprocess.Popen(command, env=own, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        if not any(READY in line for line in process.stdout):
            raise RuntimeError("bigmind up did not start")
        yield f"http://localhost:{port}", psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _prompts(folder: Path, url: str, key: str) -> int:
    """Send the first prompt of several conversations as a client does; return how many brought what is known."""
    hooks = HookFolder(folder / "hooks")
    hooks.write(HookConfig(CLIENT, url, key, places=["user"]))
    command = [sys.executable, "-I", "-S", str(hooks.folder / PROGRAM_FILE), CLIENT]
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "Through what do deploys of the router go?"}
    answers = [
        subprocess.run(
            command,
            input=json.dumps({**event, "cwd": str(folder), "session_id": f"{url} {number}"}),
            env={"HOME": str(folder), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
        ).stdout
        for number in range(PROMPTS)
    ]
    return sum("blue queue" in answer for answer in answers)


async def _writes(url: str, key: str, numbers: Iterator[int]) -> list[float]:
    """Return how many seconds each of several bursts of writes took; the first meets fresh processes."""
    headers, limits = {"Authorization": f"Bearer {key}"}, httpx.Limits(max_connections=WRITES)
    async with httpx.AsyncClient(base_url=f"{url}/api/v1/", headers=headers, timeout=60, limits=limits) as rest:

        async def write() -> None:
            fact = f"Release {next(numbers)} of the gateway was deployed by hand on day {next(numbers)}."
            (await rest.post("facts/", json={"category": "constraint", "fact": fact})).raise_for_status()

        taken = []
        for _ in range(1 + WARM):
            began = perf_counter()
            await asyncio.gather(*(write() for _ in range(WRITES)))
            taken.append(perf_counter() - began)
        return taken


@contextmanager
def _peak_of(process: psutil.Process) -> Iterator[list[float]]:
    """Look at the memory of a process and its children again and again; the list that it yields grows meanwhile."""
    seen, has_ended = [0.0], Event()

    def look() -> None:
        while not has_ended.wait(LOOK_SECONDS):
            with suppress(psutil.Error):
                parts = [process, *process.children(recursive=True)]
                seen.append(sum(part.memory_full_info().pss for part in parts) / 2**20)

    thread = Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        has_ended.set()
        thread.join()

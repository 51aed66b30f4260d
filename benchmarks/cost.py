"""What an idle `bigmind up` needs in memory, and from stopped to ready."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep

import psutil

from benchmarks.acts import seconds_of
from benchmarks.calls import free_port
from benchmarks.rows import row

ROOT = Path(__file__).parent.parent
IDLE_SECONDS = 20
READY = "Ctrl-C stops it."
MOST_MEMORY, MOST_SECONDS = 320, 2.0


def measure() -> list[str]:
    """Measure `bigmind up`: how much memory it needs when idle, and how long it takes from stopped to ready."""
    with tempfile.TemporaryDirectory(prefix="bigmind-idle-") as home:
        with _running(home):
            pass  # The first start makes the database.
        with _running(home) as (process, seconds):
            importing = seconds_of(process)
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

"""Two thousand connections that send half of something, and ten megabytes without a key: others are answered."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from time import monotonic, sleep

import httpx
import psutil
import pytest

from tests.factories import make_key
from tests.half_open import MIB, PATHS, attacking
from tests.serving import end_its_database_sessions, serving

SECONDS = 45
LONGEST = 10
OTHERS = [f"127.0.0.{number}" for number in range(2, 12)]

pytestmark = [pytest.mark.torture, pytest.mark.alone, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("sources", [["127.0.0.1"], OTHERS], ids=["one proxy", "ten addresses"])
def test_two_thousand_half_open_connections_stop_nobody(
    tmp_path: Path, report: Callable[[str], None], sources: list[str]
) -> None:
    key = make_key().text
    with serving(tmp_path / "log.txt", BIGMIND_LOG_LEVEL="INFO", BIGMIND_RATE_LIMIT="0") as (served, process):
        with httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
            for path, size in product(PATHS, (1, 100_000)):  # The first request of a kind imports what it needs.
                client.post(f"{served.url}{path}", content=b"x" * size, headers={"Authorization": "none"})
            quiet = [_seconds_of(client, served.url) for _ in range(100)]
        server = psutil.Process(process.pid)
        before, lines_before = server.memory_info().rss, _lines(served.log)
        most, times, begun = 0, [], monotonic()
        with attacking(served.url, 2_000, 4, sources):
            while monotonic() - begun < SECONDS:
                # A new connection each time: one that is open already proves less.
                with httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
                    times.append(_seconds_of(client, served.url))
                most = max(most, server.memory_info().rss)
                sleep(0.05)
        lines = _lines(served.log) - lines_before
        grown = (most - before) / MIB
        times.sort()
        report(
            f"{len(times)} answers, median {times[len(times) // 2] * 1000:.0f} ms, p95"
            f" {times[len(times) * 95 // 100] * 1000:.0f} ms, longest {times[-1] * 1000:.0f} ms (median before"
            f" {sorted(quiet)[50] * 1000:.0f} ms); memory +{grown:.0f} MB; {lines / SECONDS * 60:.0f} lines a minute"
        )
        end_its_database_sessions()

    assert times[-1] < LONGEST
    assert grown <= 50
    assert lines / SECONDS * 60 <= 100


def _seconds_of(client: httpx.Client, url: str) -> float:
    begun = monotonic()
    client.get(f"{url}/api/v1/facts/").raise_for_status()
    return monotonic() - begun


def _lines(log: Path) -> int:
    return len(log.read_text().splitlines())

"""T60: a fresh process under 32 first calls, and what many calls leave behind: connections, memory."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest
from redis import Redis

from tests.drill.production import Production, production
from tests.torture.writes import client_of

pytestmark = pytest.mark.drill
AT_ONCE = 32
MEGABYTE = 1024 * 1024
MOST_MEMORY = 500
SOAK_SECONDS = 60 * float(os.environ.get("DRILL_SOAK_MINUTES", "2"))
WARMING = 3_000
"""Calls until each thread of each process has done everything."""
GROWTH_PER_1000 = 1.0
FIRST_TIMES = 2.0


def test_a_fresh_process_under_32_first_calls_and_what_many_calls_leave_behind(tmp_path_factory, report):
    with production(tmp_path_factory.mktemp("redis")) as whole:
        first = _writes_at_once(whole, "First")
        peak = _memory(whole)
        _writes_at_once(whole, "Second")
        warm = min(_writes_at_once(whole, f"Warm {n}") for n in range(3))
        report(f"{AT_ONCE} first writes at once: {first:.2f} s, warm {warm:.2f} s ({first / warm:.2f} x)")
        report(f"memory of two web processes after them: {peak:.0f} MB (PSS)")

        _read_and_write(whole, WARMING)
        before, connections = _memory(whole), _connections(whole)
        began, calls = time.monotonic(), 0
        while time.monotonic() < began + SOAK_SECONDS:
            calls += _read_and_write(whole, 1_000)
        after = _connections(whole)
        growth = (_memory(whole) - before) / 2 / (calls / 1_000)
        report(f"{calls:,} calls in {time.monotonic() - began:.0f} s: {growth:+.2f} MB per 1,000 calls and process")
        report(f"connections of PostgreSQL and Redis {connections} -> {after}")

    assert first <= FIRST_TIMES * warm + 1
    assert peak <= MOST_MEMORY
    assert growth <= GROWTH_PER_1000
    assert all(late <= early + 4 for early, late in zip(connections, after, strict=True))


def _writes_at_once(whole: Production, name: str) -> float:
    began = time.monotonic()
    with client_of(whole) as client, ThreadPoolExecutor(AT_ONCE) as threads:
        answers = list(
            threads.map(lambda n: _write(client, f"{name}: the limit of queue {n} is {n * 7}."), range(AT_ONCE))
        )
    assert {answer.status_code for answer in answers} == {201}
    return time.monotonic() - began


def _write(client: httpx.Client, text: str) -> httpx.Response:
    return client.post("facts/", json={"fact": text, "category": "decision"})


def _read_and_write(whole: Production, calls: int) -> int:
    name = f"Soak {time.monotonic()}"

    def call(number: int) -> None:
        if number % 10 == 0:
            _write(client, f"{name}: shelf {number} holds part {number * 3}.").raise_for_status()
        elif number % 2:
            client.get("search/", params={"query": f"shelf {number}"}).raise_for_status()
        else:
            client.get("facts/").raise_for_status()

    with client_of(whole) as client, ThreadPoolExecutor(6) as threads:
        list(threads.map(call, range(calls)))
    return calls


def _memory(whole: Production) -> float:
    """Return the megabytes of the web processes of the first instance, as the kernel divides what they share."""
    processes = [process for name, process in whole.webs[0].processes().items() if name.startswith("web-")]
    return sum(psutil.Process(process.pid).memory_full_info().pss for process in processes) / MEGABYTE


def _connections(whole: Production) -> tuple[int, int]:
    ((sessions,),) = whole.query("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
    with Redis.from_url(whole.redis.url) as client:
        return sessions, len(client.client_list())

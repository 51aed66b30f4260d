"""Fair shares: people take turns at the threads, slow work holds up nothing quick, and too much of one is refused."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock
from typing import Any

import httpx
import pytest
from django.db import connection, transaction
from mcp.types import CallToolRequestParams

from bigmind.core.errors import TooMany
from bigmind.transports.fair_pool import FairPool, NobodyWaits, People, share_of
from bigmind.transports.mcp.tools import is_slow
from bigmind.transports.request_limits import _is_slow
from bigmind.transports.shared_load import AtWork
from tests.copies import serving_copy
from tests.factories import make_key, make_user
from tests.serving import Served
from tests.transports.mcp_wire import Wire, text_of

ADA, BEA = "ada", "bea"
LEFT = {"category": "decision", "fact": "The pilot left before the tide."}


class Bench:
    """A pool whose work lasts until it is let go, with what has begun, in that order."""

    def __init__(self, threads: int, waiting: int = 32) -> None:
        self.pool = FairPool("bench", threads, waiting)
        self.begun: list[str] = []
        self._go: dict[str, Event] = {}
        self._lock = Lock()

    def add(self, person: str, name: str, *, is_slow: bool = False) -> "Future[None]":
        self._go[name] = Event()
        with share_of(person, is_slow=is_slow):
            return self.pool.submit(self._work, name)

    def _work(self, name: str) -> None:
        with self._lock:
            self.begun.append(name)
        assert self._go[name].wait(10)

    def finish(self, *names: str) -> None:
        for name in names:
            self._go[name].set()

    def finish_all(self) -> None:
        self.finish(*self._go)
        self.pool.finish()

    def has_begun(self, *names: str) -> bool:
        return eventually(lambda: set(names) <= set(self.begun))

    def stays(self, *names: str) -> bool:
        """Whether exactly these have begun, also a moment later."""
        time.sleep(0.1)
        return set(self.begun) == set(names)


def eventually(claim: Callable[[], bool], within: float = 5.0) -> bool:
    give_up = time.monotonic() + within
    while not (holds := claim()) and time.monotonic() < give_up:
        time.sleep(0.005)
    return holds


@contextmanager
def bench(threads: int, waiting: int = 32) -> Iterator[Bench]:
    made = Bench(threads, waiting)
    try:
        yield made
    finally:
        made.finish_all()
        FairPool.pools.remove(made.pool)
        FairPool.at_work.clear()


def test_people_take_turns_however_much_one_of_them_has_waiting() -> None:
    with bench(threads=1) as one:
        for number in range(4):
            one.add(ADA, f"a{number}")
        assert one.has_begun("a0")
        one.add(BEA, "b0")
        one.add(BEA, "b1")

        one.finish("a0", "a1", "a2", "a3", "b0", "b1")

        assert one.has_begun("a3", "b1")
        assert one.begun == ["a0", "a1", "b0", "a2", "b1", "a3"]


def test_what_is_quick_begins_while_slow_work_waits() -> None:
    with bench(threads=4) as four:
        for number in range(6):
            four.add(ADA, f"slow{number}", is_slow=True)
        assert four.has_begun("slow0", "slow1")

        four.add(ADA, "quick")

        assert four.has_begun("quick")
        assert four.stays("slow0", "slow1", "quick")


def test_one_slow_operation_each_while_others_are_at_work() -> None:
    with bench(threads=6) as six:
        six.add(BEA, "hello")
        for number in range(3):
            six.add(ADA, f"a{number}", is_slow=True)
        six.add(BEA, "b0", is_slow=True)

        assert six.has_begun("a0", "b0")
        assert six.stays("hello", "a0", "b0")


def test_the_slow_operation_of_a_person_is_one_in_all_pools() -> None:
    with bench(threads=4) as calls, bench(threads=4) as pages:
        calls.add(BEA, "hello")
        calls.add(ADA, "search", is_slow=True)
        assert calls.has_begun("hello", "search")
        pages.add(ADA, "import", is_slow=True)
        assert pages.stays()

        calls.finish("search")

        assert pages.has_begun("import")


ANOTHER_PROCESS = """
import os, sys, time
from pathlib import Path
os.cpu_count = lambda: 2
from bigmind.transports.shared_load import AtWork
at_work = AtWork(Path(sys.argv[1]))
at_work.note("bea")
print(at_work.begin_slow("ada", is_alone=False), flush=True)
time.sleep(60)
"""


def test_it_is_one_in_all_processes_and_the_place_of_a_killed_one_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(FairPool, "at_work", AtWork(tmp_path))
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as another, bench(threads=4) as four:
        assert another.stdout.readline() == b"True\n"
        four.add(ADA, "search", is_slow=True)
        four.add(BEA, "hers", is_slow=True)
        assert four.has_begun("hers")
        assert four.stays("hers")

        another.kill()

        assert four.has_begun("search")


def test_what_nobody_waits_for_any_more_is_not_begun_and_takes_no_place() -> None:
    with bench(threads=1, waiting=1) as one:
        one.add(ADA, "running")
        assert one.has_begun("running")
        with share_of(ADA, has_left=lambda: True):
            left = one.pool.submit(one.begun.append, "left")
        one.add(ADA, "waits")

        one.finish_all()

        assert one.begun == ["running", "waits"]
        with pytest.raises(NobodyWaits):
            left.result(5)


def test_slow_work_begins_although_quick_work_never_ends() -> None:
    with bench(threads=2) as two:
        two.add(ADA, "a0")
        two.add(ADA, "a1")
        assert two.has_begun("a0", "a1")
        for number in range(2, 6):
            two.add(ADA, f"a{number}")
        two.add(ADA, "slow", is_slow=True)

        two.finish("a0")

        assert two.has_begun("slow")


def test_more_than_may_wait_is_refused_for_one_person_alone() -> None:
    with bench(threads=1, waiting=2) as one:
        for name in ("running", "first", "second"):
            one.add(ADA, name)
            assert one.has_begun("running")

        with pytest.raises(TooMany, match="BIGMIND_WAITING_PER_PERSON") as refused:
            one.add(ADA, "third")

        one.add(BEA, "hers")
        one.add(ADA, "slow", is_slow=True)
        assert refused.value.retry_after > 0


def test_the_watchdog_asks_before_all_that_waits() -> None:
    with bench(threads=2) as two:
        for number in range(5):
            two.add(ADA, f"a{number}")
        assert two.has_begun("a0", "a1")
        asked = two.pool.probe()

        two.finish("a0")

        asked.result(5)
        assert "a3" not in two.begun


def test_a_refusal_in_a_thread_reaches_whoever_waits_for_it() -> None:
    with bench(threads=1) as one, pytest.raises(ZeroDivisionError):
        one.pool.submit(lambda: 1 // 0).result(5)


def test_whose_turn_it_is_follows_from_what_was_shown_before() -> None:
    assert People.find("Bearer bm_one", "192.0.2.7") == People.find("", "192.0.2.7") != People.find("", "192.0.2.8")

    People.note("Bearer bm_one", ADA)
    People.note("session-of-ada", ADA)

    assert {People.find("Bearer bm_one", ""), People.find("session-of-ada", "")} == {ADA}


@pytest.mark.parametrize(
    ("method", "path", "query", "slow"),
    [
        ("GET", "/", b"", False), ("GET", "/", b"q=crane", True), ("POST", "/memory/import/", b"", True),
        ("GET", "/memory/export/", b"", True), ("GET", "/memory/facts/", b"", False),
        ("GET", "/api/v1/facts/", b"limit=3", False), ("POST", "/api/v1/import/", b"", True),
        ("GET", "/healthz", b"", False),
    ],
)  # fmt: skip
def test_what_counts_as_slow(method: str, path: str, query: bytes, slow: bool) -> None:
    assert _is_slow({"method": method, "path": path, "query_string": query}) is slow


@pytest.mark.parametrize(
    ("name", "arguments", "slow"),
    [
        ("memory_recall", {}, True),
        ("mcp__bigmind__memory-recall", {}, True),
        ("search_memory", {"query": "tea"}, True),
        ("memory_list_facts", {}, False),
        ("nothing", {}, False),
        *(("memory_use_tool", {"tool": tool}, True) for tool in ("memory_recall", "mcp__bigmind__memory_recall")),
        *(("mcp__bigmind__memory_use_tool", {"tool": tool}, True) for tool in ("memory-recall", " Memory_Recall ")),
        *(("memory_use_tool", {"tool": tool}, False) for tool in ("memory_list_facts", "memory_use_tool", 7, None)),
        ("memory_use_tool", {"find": "write a note"}, False),
    ],
)
def test_a_call_of_a_slow_tool_is_slow_however_it_is_named(name: str, arguments: dict[str, Any], slow: bool) -> None:
    assert is_slow(CallToolRequestParams(name=name, arguments=arguments)) is slow


@pytest.fixture
def narrow(served: Served, tmp_path: Path) -> Iterator[Served]:
    """A web process with two threads of each kind, for which one request of a person may wait."""
    limits = {"BIGMIND_WEB_THREADS": "2", "BIGMIND_MCP_THREADS": "2", "BIGMIND_WAITING_PER_PERSON": "1"}
    with serving_copy(tmp_path / "log.txt", **limits) as (narrow, _):
        yield narrow


def _wait_for_lock(cursor: Any) -> int:
    # The databases of a parallel run are copies, in which a table has the same number.
    cursor.execute(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
        " WHERE datname = current_database() AND relation = 'knowledge_fact'::regclass AND NOT granted"
    )
    return int(cursor.fetchone()[0])


def test_a_flood_of_one_person_is_told_to_wait_and_how_much_may(narrow: Served) -> None:
    user = make_user()
    key, other = make_key(user), make_key()
    headers = {"Authorization": f"Bearer {key.text}"}
    wire = Wire(narrow, key.text)
    assert httpx.get(f"{narrow.url}/api/v1/facts/", headers=headers).status_code == 200

    def read(_: int) -> httpx.Response:
        return httpx.get(f"{narrow.url}/api/v1/facts/", headers=headers, timeout=30)

    def call(_: int) -> Any:
        return wire.call("memory_list_facts")

    with ThreadPoolExecutor(18) as many, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE knowledge_fact IN ACCESS EXCLUSIVE MODE")
        blocked = []
        for number in range(1, 3):  # One after the other: until a thread takes it up, the first waits, and one may.
            blocked.append(many.submit(read, number))
            assert eventually(lambda number=number: _wait_for_lock(cursor) == number, within=30)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{narrow.url}/api/v1/facts/", headers=headers, json=LEFT, timeout=0.5)
        reads, calls = [[many.submit(ask, number) for number in range(8)] for ask in (read, call)]
        # One more waits for a thread in each of the pools, and two are at work in that of the calls.
        assert eventually(lambda: sum(one.done() for one in reads) >= 7 and sum(one.done() for one in calls) >= 5, 30)

    read_by_rest, called = [one.result() for one in reads], [one.result() for one in calls]
    assert all(one.result().is_success or one.result().status_code == 503 for one in blocked)
    left = httpx.get(f"{narrow.url}/api/v1/facts/", headers=headers, timeout=30)
    assert LEFT["fact"] not in left.text, "Nobody waited for it any more."
    refused = [answer for answer in read_by_rest if answer.status_code == 429]
    assert len(refused) >= 5
    assert refused[0].headers["Content-Type"] == "application/problem+json"
    assert int(refused[0].headers["Retry-After"]) > 0
    assert "BIGMIND_WAITING_PER_PERSON" in refused[0].json()["detail"]
    told = [text_of(reply) for reply in called if "BIGMIND_WAITING_PER_PERSON" in text_of(reply)]
    assert told
    assert told[0].count("Try again in") == 1
    theirs = httpx.get(f"{narrow.url}/api/v1/facts/", headers={"Authorization": f"Bearer {other.text}"}, timeout=30)
    assert theirs.status_code == 200

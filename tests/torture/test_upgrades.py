"""T18: migrations under the hands of all: nobody waits for a lock, and no request fails."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import httpx
import psycopg
import pytest

from bigmind.embedded.postgres import Cluster
from tests.embedded.instance import ROOT, Instance, environment
from tests.torture.conftest import Start
from tests.torture.day import Day
from tests.torture.scale import AGENTS, STORED_BEFORE, UPGRADES
from tests.torture.vectors import seconds_until_embedded
from tests.torture.writes import client_of

pytestmark = pytest.mark.torture

EARLIER = {"accounts": "0013", "knowledge": "0016", "curation": "0002"}
"""A schema before the newest one that what agents do all day does not need: so one version can serve both."""
LONGEST_WAIT = 1.0
EMBEDDED_WITHIN = 300.0
MIGRATED_WITHIN = 180.0


class Locks:
    """Looks all the while how long anybody waits for a lock on a table."""

    def __init__(self, home: object) -> None:
        self.longest = 0.0
        self._url = Cluster(home).url
        self._over = Event()
        self._thread = Thread(target=self._look)

    def __enter__(self) -> "Locks":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as database:
            while not self._over.wait(0.02):
                row = database.execute(
                    "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - waitstart)), 0)::float8 FROM pg_locks"
                    " WHERE NOT granted AND locktype = 'relation'"
                ).fetchone()
                self.longest = max(self.longest, row[0])


@pytest.fixture(scope="module")
def bigmind(running: Start) -> Iterator[Instance]:
    with running(BIGMIND_EMBEDDING_PROVIDER="hashing") as instance, client_of(instance) as client:
        Day(client, "Before").rounds(STORED_BEFORE)
        seconds_until_embedded(instance, within=EMBEDDED_WITHIN)
        yield instance


def test_an_upgrade_under_load_is_noticed_by_nobody(bigmind: Instance, report: Callable[[str], None]) -> None:
    for number in range(UPGRADES):
        _migrate_back(bigmind)
        with client_of(bigmind) as client, Locks(bigmind.home) as locks, _at_work(client, f"Upgrade {number}") as day:
            _migrate(bigmind)

        report(f"{day().summary()}; the longest wait for a lock on a table {locks.longest:.2f} s")
        assert day().failures == []
        assert locks.longest <= LONGEST_WAIT


@contextmanager
def _at_work(client: httpx.Client, name: str) -> Iterator[Callable[[], Day]]:
    """Let agents write, read and search meanwhile; yield what tells how it went, once it is over."""
    day, over = Day(client, name), Event()
    agents = Thread(target=lambda: day.until(over.is_set, agents=AGENTS))
    agents.start()
    try:
        yield lambda: day
    finally:
        over.set()
        agents.join()


def _start(instance: Instance, *to: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", *to],
        cwd=ROOT,
        env=environment(instance.home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _migrate(instance: Instance, *to: str) -> None:
    assert _start(instance, *to).wait(MIGRATED_WITHIN) == 0


def _migrate_back(instance: Instance) -> None:
    for app, name in EARLIER.items():
        _migrate(instance, app, name)

"""Partitions under the hands of all: nobody is refused anything, nothing is lost, a killed run is cleared away."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tests.embedded.instance import ROOT, Instance, command, environment, eventually
from tests.torture.conftest import Start
from tests.torture.day import Day, at_work
from tests.torture.migrating import Locks
from tests.torture.scale import AGENTS, KILLED_MIGRATIONS, STORED_BEFORE
from tests.torture.vectors import seconds_until_embedded
from tests.torture.writes import client_of, findable_texts, query, stored_texts

pytestmark = [pytest.mark.torture, pytest.mark.alone]

LONGEST_WAIT = 2.0
EMBEDDED_WITHIN = 300.0


@pytest.fixture(scope="module")
def bigmind(running: Start) -> Iterator[Instance]:
    with running(BIGMIND_EMBEDDING_PROVIDER="hashing") as instance, client_of(instance) as client:
        Day(client, "Before").rounds(STORED_BEFORE)
        seconds_until_embedded(instance, within=EMBEDDED_WITHIN)
        yield instance


def test_partitions_come_and_go_and_nobody_is_refused_anything(
    bigmind: Instance, report: Callable[[str], None]
) -> None:
    with client_of(bigmind) as client, Locks(bigmind) as locks, at_work(client, "Divided", agents=AGENTS) as day:
        divided = command(bigmind.home, "partition", "--partitions", "8", "--yes")
        shape = _partitions(bigmind)
        time.sleep(2)
        whole = command(bigmind.home, "partition", "--undo")

    waited = re.findall(r"waited for (\d+) ms", divided.stdout + whole.stdout)
    report(f"{day().summary()}; held for {waited} ms; the longest wait for a lock {locks.longest:.2f} s")
    assert (divided.returncode, whole.returncode) == (0, 0), divided.stderr + whole.stderr
    assert (shape, _partitions(bigmind)) == (8, 0)
    assert day().failures == []
    assert locks.longest <= LONGEST_WAIT
    assert _all_is_indexed(bigmind)


def test_one_that_is_killed_at_any_moment_is_cleared_away_or_finished_by_the_next(
    bigmind: Instance, report: Callable[[str], None]
) -> None:
    begun = time.monotonic()
    assert command(bigmind.home, "partition", "--partitions", "8", "--yes").returncode == 0
    assert command(bigmind.home, "partition", "--undo").returncode == 0
    whole, ends = (time.monotonic() - begun) / 2, list[int]()

    with client_of(bigmind) as client, at_work(client, "Killed", agents=AGENTS) as day:
        for number in range(KILLED_MIGRATIONS):
            going = _begin(bigmind, "--partitions", "8", "--yes")
            time.sleep(whole * (0.4 + 0.8 * number / KILLED_MIGRATIONS))
            going.kill()
            going.communicate()
            ends.append(_partitions(bigmind))
            time.sleep(0.5)
            done = command(bigmind.home, "partition", "--undo")
            assert done.returncode == 0, done.stderr

    report(f"killed {len(ends)} ×, with partitions {ends}; {day().summary()}")
    of_runs = "^knowledge_passage(vector)?_(new|old|changed|owned|shared)"
    left = query(bigmind.home, f"SELECT relname FROM pg_class WHERE relname ~ '{of_runs}'")
    assert left == []
    assert day().failures == []
    assert _all_is_indexed(bigmind)


def test_the_application_may_use_partitions_and_no_more(bigmind: Instance) -> None:
    assert command(bigmind.home, "partition", "--partitions", "4", "--yes").returncode == 0

    rights = query(
        bigmind.home,
        "SELECT DISTINCT relkind::text, has_table_privilege('bigmind_app', oid, 'INSERT, UPDATE, DELETE, SELECT'),"
        " has_table_privilege('bigmind_app', oid, 'TRUNCATE'), pg_has_role('bigmind_app', relowner, 'USAGE')"
        " FROM pg_class WHERE relname ~ '^knowledge_passage(vector)?(_(owned|shared).*)?$' AND relkind IN ('r', 'p')",
    )
    with client_of(bigmind) as client:
        Day(client, "In partitions").rounds(5)
    assert {row[1:] for row in rights} == {(True, False, False)}
    assert {row[0] for row in rights} == {"r", "p"}
    assert _all_is_indexed(bigmind)
    assert command(bigmind.home, "partition", "--undo").returncode == 0


def _begin(instance: Instance, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "manage.py", "partition", *arguments],
        cwd=ROOT,
        env=environment(instance.home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _partitions(instance: Instance) -> int:
    found = "SELECT count(*) FROM pg_partition_tree('knowledge_passage') WHERE isleaf"
    return max(0, query(instance.home, found)[0][0] - 1)


def _all_is_indexed(instance: Instance) -> bool:
    """Whether everything that is stored is found by its words, once, and has its vector in the end."""
    waiting = "SELECT count(*) FROM knowledge_passagevector WHERE vector IS NULL"
    eventually(lambda: query(instance.home, waiting) == [(0,)], within=60)
    ((passages, vectors),) = query(
        instance.home,
        "SELECT (SELECT count(*) FROM knowledge_passage), (SELECT count(*) FROM knowledge_passagevector AS vector"
        " JOIN knowledge_passage AS passage ON passage.id = vector.passage_id"
        " AND passage.owner_id IS NOT DISTINCT FROM vector.owner_id)",
    )
    found, stored = findable_texts(instance.home), stored_texts(instance.home)
    return passages == vectors and all(found[text] == 1 for text in stored)

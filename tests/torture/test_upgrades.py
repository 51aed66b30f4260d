"""T18: a migration that is killed lets go, and one that cannot have its table gives up; agents go on.

A whole upgrade under load, and one that is killed at any moment: test_rolling_upgrade.py.
"""

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import psycopg
import pytest

from bigmind.embedded.cluster import Cluster
from tests.embedded.instance import Instance, command, eventually
from tests.torture.conftest import Start
from tests.torture.day import Day, at_work
from tests.torture.migrating import TRIAL, Locks, begun, migrate, migrated
from tests.torture.scale import AGENTS, STORED_BEFORE
from tests.torture.vectors import seconds_until_embedded
from tests.torture.writes import client_of, query, stored_texts

pytestmark = [pytest.mark.torture, pytest.mark.alone]

LONGEST_WAIT = 1.0
EMBEDDED_WITHIN = 300.0
ANSWERS_WITHIN = 5.0
PAUSE = "trial_pause"


@pytest.fixture(scope="module")
def bigmind(running: Start) -> Iterator[Instance]:
    with running(BIGMIND_EMBEDDING_PROVIDER="hashing") as instance, client_of(instance) as client:
        Day(client, "Before").rounds(STORED_BEFORE)
        seconds_until_embedded(instance, within=EMBEDDED_WITHIN)
        yield instance


def test_a_migration_killed_while_it_holds_a_table_lets_go_and_runs_again(
    bigmind: Instance, report: Callable[[str], None]
) -> None:
    texts, tables = stored_texts(bigmind.home), _schema(bigmind)
    with _pause(bigmind):
        migration = begun(bigmind, "trial", settings=TRIAL)
        eventually(lambda: _holds_facts(bigmind), within=60)
        migration.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        migration.communicate()
        with client_of(bigmind) as client:
            probe = client.post("facts/", json={"fact": "The migration was killed.", "category": "decision"})
        answered = time.monotonic() - killed
        half_done = _schema(bigmind) != tables

    migrate(bigmind, "trial", settings=TRIAL)

    report(f"a write was answered {answered:.1f} s after the migration that held its table was killed")
    assert probe.status_code == 201
    assert answered <= ANSWERS_WITHIN
    assert not half_done
    assert "[X] 0001_trial" in command(bigmind.home, "showmigrations", DJANGO_SETTINGS_MODULE=TRIAL).stdout
    assert _schema(bigmind) - tables >= {("knowledge_fact", "trial"), ("trial_trial", "user_id")}
    assert stored_texts(bigmind.home) == texts + Counter(["The migration was killed."])
    assert _is_ready(bigmind)
    migrate(bigmind, "trial", "zero", settings=TRIAL)
    assert _schema(bigmind) == tables


def test_a_table_that_somebody_holds_makes_the_migration_give_up_and_nobody_else_wait(
    bigmind: Instance, report: Callable[[str], None]
) -> None:
    tables = _schema(bigmind)
    with client_of(bigmind) as client, Locks(bigmind) as locks, at_work(client, "Held up", agents=AGENTS) as day:
        with _reading_facts(bigmind) as holder:
            code, printed = migrated(bigmind, "trial", "--patience=5", settings=TRIAL)
            untouched = _schema(bigmind) == tables
        migrate(bigmind, "trial", settings=TRIAL)

    report(f"{day().summary()}; the longest wait for a lock on a table {locks.longest:.2f} s")
    assert code == 1
    assert "A table stayed in use" in printed
    assert f"pg_terminate_backend({holder})" in printed
    assert "Traceback" not in printed
    assert untouched
    assert day().failures == []
    assert locks.longest <= LONGEST_WAIT
    migrate(bigmind, "trial", "zero", settings=TRIAL)


@contextmanager
def _pause(instance: Instance) -> Iterator[None]:
    """Let the trial stop where it holds the table of facts."""
    with psycopg.connect(Cluster(instance.home).url, autocommit=True) as database:
        database.execute(f"CREATE TABLE {PAUSE} ()")
        try:
            yield
        finally:
            database.execute(f"DROP TABLE {PAUSE}")


@contextmanager
def _reading_facts(instance: Instance) -> Iterator[int]:
    """Hold the table of facts as a long report does: it can be read and written meanwhile, and not be changed."""
    with psycopg.connect(Cluster(instance.home).url, application_name="a long report") as holder:
        holder.execute("LOCK TABLE knowledge_fact IN ACCESS SHARE MODE")
        yield holder.info.backend_pid


def _holds_facts(instance: Instance) -> bool:
    held = "SELECT 1 FROM pg_locks WHERE granted AND mode = %s AND relation = 'knowledge_fact'::regclass"
    return bool(query(instance.home, held, "AccessExclusiveLock"))


def _schema(instance: Instance) -> set[tuple[str, str]]:
    """Every table and index with its columns."""
    return set(
        query(
            instance.home,
            "SELECT relname, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
            " WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped AND relname <> %s",
            PAUSE,
        )
    )


def _is_ready(instance: Instance) -> bool:
    return httpx.get(f"{instance.url}/readyz", timeout=20).status_code == 200

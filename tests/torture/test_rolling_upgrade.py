"""A team upgrades from revision 79cbce9 as docs/upgrading.md says: the old one serves while the new one migrates."""

import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path

import psycopg
import pytest

from bigmind.embedded.cluster import NAME, Cluster
from bigmind.embedded.home import prepare_home
from tests.embedded.instance import ROOT, Instance, command
from tests.growing.revision_79cbce9 import Before, restore
from tests.torture.conftest import UNLIMITED
from tests.torture.day import Day, at_work
from tests.torture.migrating import Locks
from tests.torture.scale import AGENTS, BESIDE_SECONDS, KILLED_MIGRATIONS
from tests.torture.writes import client_of, stored_texts

pytestmark = [pytest.mark.torture, pytest.mark.alone]

REVISION = "79cbce9"
LONGEST_WAIT = 1.0


@pytest.fixture(scope="module")
def old_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the revision; its packages are among those of today."""
    archived = subprocess.run(["git", "archive", REVISION], cwd=ROOT, capture_output=True)
    if archived.returncode:
        pytest.skip("The history of this repository is not here: git fetch --unshallow")
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(fileobj=BytesIO(archived.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


@pytest.fixture
def filled() -> Iterator[Cluster]:
    """A server of its own, as a team has one, with the database of the revision."""
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        home = Path(folder) / "database"
        prepare_home(home)
        cluster = Cluster(home, durable=False)
        cluster.start()
        try:
            restore(psycopg.connect(cluster.url))
            yield cluster
        finally:
            cluster.stop(patience=3)


def test_nobody_notices_that_the_old_one_is_replaced(old_code, filled, tmp_path, report):
    before = Before.read()
    old, new = _instance(tmp_path / "old", filled, before), _instance(tmp_path / "new", filled, before)
    old.program, old.folder = [sys.executable, str(old_code / "manage.py")], old_code
    with ExitStack() as stack:
        stack.callback(old.hurry)
        stack.callback(new.hurry)
        on_old = stack.enter_context(client_of(old.start(), before.keys["ada"]))
        on_new = stack.enter_context(client_of(new, before.keys["ben"]))

        with Locks(Instance(filled.home)) as locks, at_work(on_old, "On the old one", agents=AGENTS) as old_day:
            new.start()
            # Many first writes of one person at once wait for what the first one of a process loads.
            first_day = Day(on_new, "The first calls on the new one").rounds(2)
            with at_work(on_new, "On the new one, beside it", agents=AGENTS) as new_day:
                time.sleep(BESIDE_SECONDS)
        with at_work(on_new, "On the new one", agents=AGENTS) as last_day:
            old.stop()
            time.sleep(BESIDE_SECONDS)
        days = [old_day(), first_day, new_day(), last_day()]
        texts = stored_texts(filled.home)
        mended = _reindex(new)

    for day in days:
        report(day.summary())
    report(f"the longest wait for a lock on a table {locks.longest:.2f} s: {locks.told}")
    report(f"the check of the index: {mended}")
    assert [day.failures for day in days] == [[], [], [], []]
    assert all(texts[text] == count for day in days for text, count in day.written.items())
    assert locks.longest <= LONGEST_WAIT


def test_an_upgrade_killed_at_any_moment_goes_on_where_it_was(filled, tmp_path, report):
    instance, left = _instance(tmp_path / "new", filled, Before.read()), Counter[int]()
    with _copied(filled, "whole") as url:
        began = time.monotonic()
        assert _begin_migration(instance, url).wait() == 0
        whole = time.monotonic() - began
        schema, all_of_them = _schema(url), _applied(url)

    for number in range(KILLED_MIGRATIONS):
        with _copied(filled, "killed") as url:
            migration = _begin_migration(instance, url)
            time.sleep(whole * (0.3 + 0.7 * number / KILLED_MIGRATIONS))
            migration.kill()
            migration.communicate()
            left[all_of_them - _applied(url)] += 1
            migration = _begin_migration(instance, url)
            printed, _ = migration.communicate()

            assert migration.returncode == 0, printed
            assert _schema(url) == schema

    report(f"killed {KILLED_MIGRATIONS} ×; so many migrations were left to do: {sorted(left.elements())}")


@contextmanager
def _copied(server: Cluster, name: str) -> Iterator[str]:
    """Yield the address of a copy of the database."""
    with psycopg.connect(server.url, dbname="postgres", autocommit=True) as administering:
        administering.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        administering.execute(f"CREATE DATABASE {name} TEMPLATE {NAME}")
    yield server.url.replace(f"/{NAME}?", f"/{name}?")


def _begin_migration(instance: Instance, url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*instance.program, "migrate"],
        cwd=ROOT,
        env={**instance.environment, "BIGMIND_DATABASE_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _applied(url: str) -> int:
    with psycopg.connect(url) as database:
        ((number,),) = database.execute("SELECT count(*) FROM django_migrations").fetchall()
        return int(number)


def _schema(url: str) -> set[tuple[str, str]]:
    """Every table and index with its columns."""
    with psycopg.connect(url) as database:
        return set(
            database.execute(
                "SELECT relname, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
                " WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped"
            ).fetchall()
        )


def _instance(home: Path, database: Cluster, before: Before) -> Instance:
    """One machine of a team: all share the database and the secret key."""
    shared = {"BIGMIND_DATABASE_URL": database.url, "BIGMIND_SECRET_KEY": before.secret_key, "BIGMIND_MODE": "team"}
    return Instance(home, BIGMIND_EMBEDDING_PROVIDER="hashing", **shared, **UNLIMITED)


def _reindex(instance: Instance) -> str:
    """Mend what the index lacks, as the sweep does each hour; say what it was.

    The embedder of the tests has changed since: what the old one stores last has no vector of the new model.
    """
    variables = {name: value for name, value in instance.environment.items() if name.startswith("BIGMIND_")}
    done = command(instance.home, "reindex", **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().replace("\n", "; ")

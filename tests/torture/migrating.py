"""Migrations of a BigMind that is running, and who waits for them."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import takewhile
from threading import Event, Thread

import psycopg
from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently, ValidateConstraint
from django.db.migrations import AddConstraint, AddIndex, AlterModelOptions, CreateModel, Migration, RunSQL
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import SeparateDatabaseAndState
from django.db.migrations.operations.base import Operation

from bigmind.embedded.cluster import Cluster
from tests.embedded.instance import ROOT, Instance, environment

APPS = ("accounts", "knowledge", "curation")
MOST_OF_EACH = 4
MIGRATED_WITHIN = 600.0
TRIAL = "tests.torture.trial.settings"
_ONLY_MAKE = (
    CreateModel,
    AddIndex,
    AddIndexConcurrently,
    AddConstraint,
    AddConstraintNotValid,
    ValidateConstraint,
    AlterModelOptions,
    RunSQL,
)


class Locks:
    """Looks all the while how long anybody waits for a lock on a table."""

    def __init__(self, instance: Instance) -> None:
        self.longest = 0.0
        self._url = Cluster(instance.home).url
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


def newest() -> dict[str, list[str]]:
    """Return the newest migrations of each app, the newest first, that can be undone and only make what is new.

    What agents do all day may need no more than what was there before: then one version can serve both schemas.
    """
    loader = MigrationLoader(None)
    found = {}
    for app in APPS:
        backwards = [
            loader.disk_migrations[key] for key in sorted(loader.disk_migrations, reverse=True) if key[0] == app
        ]
        found[app] = [one.name for one in takewhile(_only_makes_what_is_new, backwards[:-1])][:MOST_OF_EACH]
    return found


def before(app: str, name: str) -> str:
    """Return the migration before this one."""
    names = sorted(one for of, one in MigrationLoader(None).disk_migrations if of == app)
    return names[names.index(name) - 1]


def begun(instance: Instance, *arguments: str, settings: str = "") -> "subprocess.Popen[str]":
    """Begin `manage.py migrate`, of this version or of the next one."""
    variables = {"DJANGO_SETTINGS_MODULE": settings} if settings else {}
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", *arguments],
        cwd=ROOT,
        env=environment(instance.home, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def migrated(instance: Instance, *arguments: str, settings: str = "") -> tuple[int, str]:
    """Migrate; return the exit code and what was printed."""
    with begun(instance, *arguments, settings=settings) as process:
        try:
            printed, _ = process.communicate(timeout=MIGRATED_WITHIN)
        finally:
            process.kill()
    return process.returncode, printed


def migrate(instance: Instance, *arguments: str, settings: str = "") -> None:
    """Migrate, and see that it was done."""
    code, printed = migrated(instance, *arguments, settings=settings)
    assert code == 0, printed


def _only_makes_what_is_new(migration: Migration) -> bool:
    return all(isinstance(one, _ONLY_MAKE) and one.reversible for one in _flat(migration.operations))


def _flat(operations: Iterable[Operation]) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, SeparateDatabaseAndState):
            yield from _flat(operation.database_operations)
        else:
            yield operation

"""A new database gets at once what all migrations give it one after the other.

That an upgraded one gets the same is tested in test_upgrade_from_79cbce9.py.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from threading import Barrier

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from bigmind.backup.programs import run
from bigmind.database.rls import use_tokens
from bigmind.embedded.database import hang_up
from bigmind.management.commands import migrate
from tests.backup.conftest import database, on_database

NEW = f"bigmind_new_{os.getpid()}"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def new() -> Iterator[None]:
    with database(NEW), on_database(NEW):
        yield
    use_tokens()  # One that knows no keys yet makes this process send none.


@pytest.mark.torture
def test_it_is_what_one_migration_after_the_other_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    dumps = []
    for is_new in (True, False):
        monkeypatch.setattr(migrate, "is_new", lambda _, answer=is_new: answer)
        with database(NEW), on_database(NEW):
            call_command("migrate", verbosity=0)
            dumps.append(_dump("--schema-only") + _dump("--data-only", "--inserts", "--table=bigmind_row_key"))

    assert dumps[0] == dumps[1]


def test_one_whose_making_is_broken_off_is_still_new(new: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MigrationRecorder, "record_applied", break_off)
    with pytest.raises(KeyboardInterrupt):
        call_command("migrate", verbosity=0)
    monkeypatch.undo()

    assert connection.introspection.table_names() == []
    assert migrate.is_new(connection)


def test_of_two_that_migrate_it_at_once_one_waits_and_finds_it_done(new: None) -> None:
    both, said = Barrier(2), StringIO()

    def migrate_it() -> dict[str, list[str]]:
        both.wait(20)
        printed = StringIO()
        try:
            call_command("migrate", json=True, stdout=printed, stderr=said)
        finally:
            hang_up()
        return json.loads(printed.getvalue())

    with ThreadPoolExecutor(2) as threads:
        replies = [threads.submit(migrate_it) for _ in range(2)]
        applied = sorted(len(reply.result(60)["applied"]) for reply in replies)

    assert applied[0] == 0 < applied[1]
    assert said.getvalue() == "Another process migrates the database; waiting for it.\n"


def test_only_the_migrations_of_an_app_that_is_named_are_applied(new: None) -> None:
    call_command("migrate", "contenttypes", verbosity=0)

    assert connection.introspection.table_names() == ["django_content_type", "django_migrations"]


def _dump(*options: str) -> list[str]:
    process = run("pg_dump", options, stdout=subprocess.PIPE)
    printed, failures = process.communicate()
    assert process.returncode == 0, failures
    # A dump has a word of its own that restoring it asks for.
    return [line for line in printed.decode().splitlines() if not line.startswith((r"\restrict", r"\unrestrict"))]

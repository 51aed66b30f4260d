"""`bigmind migrate`: a migration is done wholly or not at all, and gives up on a table that stays in use."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management import CommandError, call_command
from django.db import DataError, OperationalError, connection
from django.db.migrations import AddField, Migration, RunSQL
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import CharField, Index
from pytest_django.plugin import DjangoDbBlocker

from bigmind.management.commands.migrate import STEPS, Command, WholeSchemaEditor

# A late migration makes this table, with a reference to another one: to undo all takes a quarter of a minute.
TABLE, BEFORE = "curation_scrub", "0009"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def undone(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Undo a migration that makes tables referring to others, which no test may do; do it again at the end."""
    with django_db_blocker.unblock():
        call_command("migrate", "curation", BEFORE, verbosity=0)
    yield
    with django_db_blocker.unblock():
        call_command("migrate", "curation", verbosity=0)
        assert TABLE in _tables()


def test_a_migration_that_could_not_be_noted_was_not_done(undone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MigrationRecorder, "record_applied", break_off)
    with pytest.raises(KeyboardInterrupt):
        call_command("migrate", "curation", verbosity=0)
    monkeypatch.undo()

    assert TABLE not in _tables()


def test_a_table_that_stays_in_use_makes_it_give_up_and_say_who_has_it(undone: None) -> None:
    with closing(connection.copy()) as holder:
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("LOCK TABLE accounts_user IN ROW EXCLUSIVE MODE")
            cursor.execute("SELECT pg_backend_pid()")
            (number,) = cursor.fetchone()

        with pytest.raises(CommandError) as refused:
            call_command("migrate", "curation", verbosity=0, patience=0)

    assert "A table stayed in use" in str(refused.value)
    assert f"process {number} " in str(refused.value)
    assert TABLE not in _tables()


def test_without_pgvector_it_says_so_before_it_begins(undone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    # To the test's server the extension cannot be given a second time, as it cannot to one that has no package of it.
    monkeypatch.setattr("bigmind.embedded.database.vector_version", lambda: None)

    with pytest.raises(CommandError, match=r"pgvector is not installed.*Nothing was migrated"):
        call_command("migrate", "curation", verbosity=0)

    assert TABLE not in _tables()
    monkeypatch.undo()


def test_through_a_pool_it_does_not_begin(undone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    connection.ensure_connection()  # A connection that is made meanwhile would look whether there is a pool.
    monkeypatch.setattr(connection, "is_pooled", True)

    with pytest.raises(CommandError, match=r"A pool stands before.*past the pool.*Nothing was migrated"):
        call_command("migrate", "curation", verbosity=0)

    assert TABLE not in _tables()


def test_tables_that_an_earlier_version_divided_are_left_alone(undone: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE knowledge_passage_old (id bigint)")

        with pytest.raises(CommandError, match="`bigmind partition --undo` with the version before"):
            call_command("migrate", "curation", verbosity=0)
        cursor.execute("DROP TABLE knowledge_passage_old")

    assert TABLE not in _tables()


@pytest.fixture
def beside() -> Iterator[Callable[..., None]]:
    """Return what applies a migration outside of a transaction: a new column, other operations, an index of it."""
    command, state = Command(), MigrationLoader(connection).project_state()
    command.on, command.verbosity = connection, 0

    def migrate(*operations: Operation) -> None:
        migration = Migration("9999_trial", "knowledge")
        migration.atomic = False
        column = AddField("fact", "mood", CharField(max_length=9, db_default=""))
        index = AddIndexConcurrently("fact", Index(fields=["mood"], name="left_behind"))
        migration.operations = [column, *operations, index]
        with ExitStack() as command._whole:
            command.migration_progress_callback("apply_start", migration)
            with WholeSchemaEditor(connection, atomic=False) as editor:
                migration.apply(state.clone(), editor)

    yield migrate
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {STEPS}; ALTER TABLE knowledge_fact DROP COLUMN IF EXISTS mood; RESET lock_timeout")


def test_one_outside_of_a_transaction_that_broke_off_goes_on_where_it_was(beside: Callable[..., None]) -> None:
    with pytest.raises(DataError):
        beside(RunSQL("SELECT 1 / 0"))

    beside(RunSQL("SELECT 1"))

    assert _index_is_valid()


def test_an_index_that_one_that_was_killed_has_left_is_made_anew(beside: Callable[..., None]) -> None:
    with pytest.raises(DataError):
        beside(RunSQL("SELECT 1 / 0"))
    with connection.cursor() as cursor:
        cursor.execute("CREATE INDEX left_behind ON knowledge_fact (category)")

    beside(RunSQL("SELECT 1"))

    assert _index_is_valid()


def test_one_outside_of_a_transaction_lets_others_pass_as_well(beside: Callable[..., None]) -> None:
    with closing(connection.copy()) as holder:
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("LOCK TABLE knowledge_fact IN ACCESS SHARE MODE")

        with pytest.raises(OperationalError, match="lock timeout"):
            beside()

    beside()
    assert _index_is_valid()


def _index_is_valid() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indisvalid")
        return any("left_behind" in definition and "(mood)" in definition for (definition,) in cursor.fetchall())


def _tables() -> list[str]:
    return connection.introspection.table_names()

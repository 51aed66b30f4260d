"""`bigmind migrate`: Django's command, run as the owner of the tables, without blocking requests, and atomically."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from types import TracebackType
from typing import Any, ClassVar

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import DatabaseError, InternalError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from django.db.migrations import Migration
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Index, Model
from psycopg.errors import DeadlockDetected, LockNotAvailable

from bigmind.core.errors import BigMindError
from bigmind.database.new_database import is_new, make_tables
from bigmind.database.read_only import is_refused_write
from bigmind.database.roles import grant_to_application, migrating, owner_alias, require_owner
from bigmind.embedded.database import install_vector, one_at_a_time, wait_for_database
from bigmind.embedded.home import CannotStart
from bigmind.embedded.waiting import Wait

# Statements queue behind one that waits for a lock. So it gives up soon, and tries again.
LOCK_TIMEOUT = "500ms"
PATIENCE_SECONDS = 180.0
PAUSE_SECONDS = 1.0
STEPS = "bigmind_migration_steps"
"""The table in which a migration outside of a transaction notes how far it is; there only until all is migrated."""
LIMITS = {
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    # A statement whose client was killed would hold its locks to its end, and then be rolled back all the same.
    "client_connection_check_interval": "'1s'",
}
_OLDEST = """
SELECT pid, application_name, round(extract(epoch FROM now() - xact_start))::int FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1
"""
_DIVIDED = """
SELECT EXISTS (SELECT FROM pg_class WHERE relkind = 'p' AND relname IN ('knowledge_passage', 'knowledge_passagevector')
    OR relname ~ '^knowledge_passage(vector)?_(new|old|changed)$')
"""


class Steps:
    """How far a migration outside of a transaction is, noted with each statement: one that was killed goes on there."""

    def __init__(self, on: BaseDatabaseWrapper, migration: Migration) -> None:
        """Read what is noted about a migration."""
        self._on, self._migration, self._number = on, str(migration), 0
        with on.cursor() as cursor:
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {STEPS} (migration text PRIMARY KEY, done integer NOT NULL)")
            cursor.execute(f"SELECT done FROM {STEPS} WHERE migration = %s", [self._migration])  # noqa: S608
            row = cursor.fetchone()
        self._done = row[0] if row else 0

    @property
    def is_next_done(self) -> bool:
        """Whether the next statement was executed before the migration was killed."""
        return self._number < self._done

    def perform(self, execute: Callable[[], None], *, concurrently: bool) -> None:
        """Execute the next statement, unless that was done."""
        is_done, self._number = self.is_next_done, self._number + 1
        if is_done:
            return
        alias = self._on.alias
        with self.waiting() if concurrently else transaction.atomic(using=alias), self._on.cursor() as cursor:
            execute()
            cursor.execute(
                f"INSERT INTO {STEPS} VALUES (%s, %s) ON CONFLICT (migration) DO UPDATE SET done = excluded.done",  # noqa: S608
                [self._migration, self._number],
            )

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for locks as long as it takes: what is done concurrently blocks nobody meanwhile."""
        with self._on.cursor() as cursor:
            cursor.execute("SET lock_timeout TO 0")
            yield
            cursor.execute(f"SET lock_timeout TO '{LOCK_TIMEOUT}'")


class WholeSchemaEditor(DatabaseSchemaEditor):
    """Leaves its transaction even when deferred statements, such as foreign keys, do not get their lock."""

    steps: ClassVar[Steps | None] = None
    """Of the migration that runs, if it runs outside of a transaction."""

    def execute(self, sql: Any, params: Any = ()) -> None:
        """Execute a statement; outside of a transaction only if that was not done before."""
        execute = partial(super().execute, sql, params)
        if self.steps is None:
            execute()
        else:
            self.steps.perform(execute, concurrently=" CONCURRENTLY " in str(sql))

    def add_index(self, model: type[Model], index: Index, concurrently: bool = False) -> None:
        """Add an index; drop it first, whole or broken, if one that was killed has left it."""
        if concurrently and self.steps and not self.steps.is_next_done:
            with self.steps.waiting():
                super().execute(f"DROP INDEX CONCURRENTLY IF EXISTS {self.quote_name(index.name)}")
        super().add_index(model, index, concurrently=concurrently)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Run the deferred statements, then end the transaction."""
        try:
            while kind is None and self.deferred_sql:
                self.execute(self.deferred_sql.pop(0), None)
        except BaseException as failed:
            super().__exit__(type(failed), failed, failed.__traceback__)
            raise
        super().__exit__(kind, error, traceback)


class Command(migrate.Command):
    """Migrates without making requests wait: a statement that does not get its lock at once lets them pass, then
    retries.

    A migration and the note that it was done are one transaction, so one that is killed has not begun. One that makes
    indexes beside what is going on can be in none: it notes each statement, and goes on after the last one.
    """

    def add_arguments(self, parser: CommandParser) -> None:
        """Migrate as the owner, unless another connection is named."""
        super().add_arguments(parser)
        parser.add_argument(
            "--patience",
            type=float,
            default=PATIENCE_SECONDS,
            metavar="SECONDS",
            help="How long to try while a table is in use (default: %(default)g).",
        )
        parser.add_argument("--json", action="store_true", help="Print what was applied as JSON, and nothing else.")
        parser.set_defaults(database=owner_alias())

    def handle(self, *args: Any, patience: float = PATIENCE_SECONDS, **options: Any) -> None:
        """Migrate, however long it takes, and let the application use what there is now.

        Of several processes one migrates, and the others then find that all is done.
        """
        only_looks = options.get("plan") or options.get("check_unapplied")
        self.on = connections[options["database"]]
        try:
            wait_for_database(self.stderr.write, self.on.alias)
            with nullcontext() if only_looks else one_at_a_time(self.on.alias, self.stderr.write):
                self._handle(*args, patience=patience, migrates=not (only_looks or options.get("fake")), **options)
        except (CannotStart, BigMindError) as refusal:
            raise CommandError(f"{refusal} Nothing was migrated.") from None
        except InternalError as error:
            if not is_refused_write(error):
                raise
            raise CommandError("The database is a standby, or set to read only. Nothing was migrated.") from None

    def _handle(self, *args: Any, patience: float, migrates: bool, **options: Any) -> None:
        if migrates:
            require_owner("migrate the database")
            self._refuse_partitions()
            install_vector()  # Before anything has begun: otherwise the first migrations would be applied alone.
        before = self._list_applied() if options.get("json") else set()
        if options.get("json"):
            options["verbosity"] = 0
        self.on.SchemaEditorClass = WholeSchemaEditor
        for limit, value in LIMITS.items():
            with suppress(DatabaseError):  # Not every system can check whether its client is still there.
                self._set(limit, value)
        if options["database"] == owner_alias():
            grant_to_application()  # So that new tables belong to the owner from the start.
        try:
            with migrating():
                if migrates and not options.get("app_label") and is_new(self.on):
                    make_tables(self.on)
                    if options["verbosity"]:
                        self.stdout.write("Made all tables of a new database.")
                self._migrate(patience, *args, **options)
            if migrates:
                with self.on.cursor() as cursor:
                    cursor.execute(f"DROP TABLE IF EXISTS {STEPS}")
        finally:
            for limit in ("lock_timeout", *LIMITS):
                self._set(limit, "DEFAULT")
        if options["database"] == owner_alias():
            grant_to_application()
        if options.get("json"):
            applied = sorted(f"{app}.{name}" for app, name in self._list_applied() - before)
            self.stdout.write(json.dumps({"applied": applied}))

    def _refuse_partitions(self) -> None:
        """Leave a database alone whose tables an earlier version divided: only that version can make them whole."""
        with self.on.cursor() as cursor:
            cursor.execute(_DIVIDED)
            if cursor.fetchone() == (True,):
                raise CannotStart(
                    "Passages and vectors are divided into partitions, which this version no longer has."
                    " Run `bigmind partition --undo` with the version before, then upgrade."
                )

    def _list_applied(self) -> set[tuple[str, str]]:
        return set(MigrationRecorder(self.on).applied_migrations())

    def _migrate(self, patience: float, *args: Any, **options: Any) -> None:
        wait = Wait(self.stderr.write, limit=patience)
        while True:
            try:
                with ExitStack() as self._whole:
                    super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                    raise
                if wait.is_over:
                    raise CommandError(self._in_use()) from error
                wait("The tables are in use; trying again.")
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def _in_use(self) -> str:
        """Say what keeps the table locked, as far as PostgreSQL knows."""
        with self.on.cursor() as cursor:
            cursor.execute(_OLDEST)
            row = cursor.fetchone()
        oldest = (
            f" The oldest transaction is that of process {row[0]} ({row[1] or 'no name'}), {row[2]} seconds old:"
            f" SELECT pg_terminate_backend({row[0]}) ends it."
            if row
            else ""
        )
        return (
            f"A table stayed in use, so the migration gave up; nothing was changed.{oldest}"
            " Then run again: bigmind migrate."
        )

    def migration_progress_callback(self, action: str, migration: Migration | None = None, fake: bool = False) -> None:
        """Say how far it is, and prepare for the migration that comes now."""
        if action in {"apply_start", "unapply_start"} and migration is not None:
            # Taken back outside of a transaction, nothing is noted: it could not go on after giving up, so it waits.
            self._set("lock_timeout", f"'{LOCK_TIMEOUT}'" if migration.atomic or action == "apply_start" else "0")
            if migration.atomic:
                self._whole.enter_context(transaction.atomic(using=self.on.alias))
            elif action == "apply_start" and not fake:
                WholeSchemaEditor.steps = Steps(self.on, migration)
                self._whole.callback(setattr, WholeSchemaEditor, "steps", None)
        elif action in {"apply_success", "unapply_success"}:
            self._whole.close()
        super().migration_progress_callback(action, migration, fake)

    def _set(self, limit: str, value: str) -> None:
        with self.on.cursor() as cursor:
            cursor.execute(f"SET {limit} TO {value}")

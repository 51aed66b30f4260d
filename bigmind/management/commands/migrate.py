"""`bigmind migrate`: Django's command, as the owner of the tables, in nobody's way, and wholly or not at all."""

import json
import time
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import DatabaseError, OperationalError, connections, transaction
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from django.db.migrations import Migration
from django.db.migrations.recorder import MigrationRecorder
from psycopg.errors import DeadlockDetected, LockNotAvailable

from bigmind.core.roles import grant_to_application, migrating, owner_alias
from bigmind.embedded.database import install_vector
from bigmind.embedded.home import CannotStart

# Anyone who comes after a statement that waits for a lock waits as well. So it gives up soon, and tries again.
LOCK_TIMEOUT = "500ms"
PATIENCE_SECONDS = 180.0
PAUSE_SECONDS = 1.0
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


class WholeSchemaEditor(DatabaseSchemaEditor):
    """Leaves its transaction also when what was put off to its end, such as foreign keys, does not get its lock."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Do what was put off, then end the transaction."""
        try:
            while kind is None and self.deferred_sql:
                self.execute(self.deferred_sql.pop(0), None)
        except BaseException as failed:
            super().__exit__(type(failed), failed, failed.__traceback__)
            raise
        super().__exit__(kind, error, traceback)


class Command(migrate.Command):
    """Migrates without making requests wait: what does not get its lock at once lets them pass, and tries again.

    A migration and the note that it was done are one transaction, so one that is killed has not begun.
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
        """Migrate, however long it takes, and let the application use what there is now."""
        if not (options.get("plan") or options.get("check_unapplied") or options.get("fake")):
            self._require_vector()
        self.on = connections[options["database"]]
        before = self._list_applied() if options.get("json") else set()
        if options.get("json"):
            options["verbosity"] = 0
        self.on.SchemaEditorClass = WholeSchemaEditor
        for limit, value in LIMITS.items():
            with suppress(DatabaseError):  # Not every system can look whether its client is there.
                self._set(limit, value)
        if options["database"] == owner_alias():
            grant_to_application()  # So that what is made is theirs from its first moment.
        try:
            with migrating():
                self._migrate(time.monotonic() + patience, *args, **options)
        finally:
            for limit in ("lock_timeout", *LIMITS):
                self._set(limit, "DEFAULT")
        if options["database"] == owner_alias():
            grant_to_application()
        if options.get("json"):
            applied = sorted(f"{app}.{name}" for app, name in self._list_applied() - before)
            self.stdout.write(json.dumps({"applied": applied}))

    def _list_applied(self) -> set[tuple[str, str]]:
        return set(MigrationRecorder(self.on).applied_migrations())

    def _require_vector(self) -> None:
        """Refuse before anything has begun: what the first migrations made would stand there without the rest."""
        try:
            install_vector()
        except CannotStart as refusal:
            raise CommandError(f"{refusal} Nothing was migrated.") from None

    def _migrate(self, give_up: float, *args: Any, **options: Any) -> None:
        while True:
            try:
                with ExitStack() as self._whole:
                    super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                    raise
                if time.monotonic() > give_up:
                    raise CommandError(self._in_use()) from error
                self.stderr.write("The tables are in use; trying again.")
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def _in_use(self) -> str:
        """Say who keeps the migration from its table, as far as PostgreSQL knows."""
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
            f"A table stayed in use, so the migration gave up, and nothing of it was done.{oldest}"
            " Then run again: bigmind migrate."
        )

    def migration_progress_callback(self, action: str, migration: Migration | None = None, fake: bool = False) -> None:
        """Say how far it is, and prepare for the migration that comes now.

        A migration outside of a transaction builds its indexes concurrently: it waits for others and blocks nobody.
        """
        if action in {"apply_start", "unapply_start"} and migration is not None:
            self._set("lock_timeout", f"'{LOCK_TIMEOUT}'" if migration.atomic else "0")
            if migration.atomic:
                self._whole.enter_context(transaction.atomic(using=self.on.alias))
            elif action == "apply_start":
                self._drop_what_was_left_of(migration)
        elif action in {"apply_success", "unapply_success"}:
            self._whole.close()
        super().migration_progress_callback(action, migration, fake)

    def _drop_what_was_left_of(self, migration: Migration) -> None:
        """Drop the indexes that it is about to make: one that was killed has left them, whole or broken."""
        for operation in migration.operations:
            if isinstance(operation, AddIndexConcurrently):
                with self.on.cursor() as cursor:
                    name = self.on.ops.quote_name(operation.index.name)
                    cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")

    def _set(self, limit: str, value: str) -> None:
        with self.on.cursor() as cursor:
            cursor.execute(f"SET {limit} TO {value}")

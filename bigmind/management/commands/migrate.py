"""`bigmind migrate`: Django's command, as the owner of the tables, and in nobody's way."""

import time
from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.migrations import Migration
from psycopg.errors import DeadlockDetected, LockNotAvailable

from bigmind.core.roles import OWNER, grant_to_application, migrating, owner_alias

# Whoever comes after a statement that waits for a lock waits as well. So it gives up soon, and tries again.
LOCK_TIMEOUT = "500ms"
TRIES = 120
PAUSE_SECONDS = 1.0


class Command(migrate.Command):
    """Migrates without making requests wait: what does not get its lock at once lets them pass, and tries again."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Migrate as the owner, unless another connection is named."""
        super().add_arguments(parser)
        parser.set_defaults(database=owner_alias())

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate, however long it takes, and let the application use what there is now."""
        self._on = connections[options["database"]]
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            self._set(limit, "0")
        if options["database"] == OWNER:
            grant_to_application()  # So that what is made is theirs from its first moment.
        try:
            with migrating():
                self._migrate(*args, **options)
        finally:
            for limit in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
                self._set(limit, "DEFAULT")
        if options["database"] == OWNER:
            grant_to_application()

    def _migrate(self, *args: Any, **options: Any) -> None:
        for tries_left in reversed(range(TRIES)):
            try:
                super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected) or not tries_left:
                    raise
                self.stderr.write("The tables are in use; trying again.")
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def migration_progress_callback(self, action: str, migration: Migration | None = None, fake: bool = False) -> None:
        """Say how far it is, and set how long the migration that comes now may wait for a lock.

        One outside of a transaction makes its indexes concurrently: it waits for whoever is there, and holds up nobody.
        """
        if action in {"apply_start", "unapply_start"} and migration is not None:
            self._set("lock_timeout", f"'{LOCK_TIMEOUT}'" if migration.atomic else "0")
        super().migration_progress_callback(action, migration, fake)

    def _set(self, limit: str, value: str) -> None:
        with self._on.cursor() as cursor:
            cursor.execute(f"SET {limit} TO {value}")

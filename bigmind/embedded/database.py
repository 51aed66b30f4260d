"""Prepares the database before anything serves: waits for it, checks it, migrates it, one process at a time."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, Error, ProgrammingError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from bigmind.database.advisory_locks import SessionLock
from bigmind.database.migration_files import list_migrations
from bigmind.database.read_only import is_read_only
from bigmind.database.roles import (
    OWNER,
    grant_to_application,
    is_pooled,
    may_change_schema,
    owner,
    owner_alias,
    takes_our_tokens,
)
from bigmind.embedded.home import CannotStart
from bigmind.embedded.waiting import Say, Wait

OLDEST_SERVER = 16
OLDEST_VECTOR = (0, 8)
"""The first that searches on in an index until it has found enough."""
WAIT_AT_MOST = 60.0
# How long a part that cannot migrate waits for one that can.
MIGRATED_WITHIN = 600.0
# Any two numbers that none of our other locks uses.
LOOK_AGAIN = 0.5
_WHAT_IT_IS = """
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
    (SELECT extversion FROM pg_extension WHERE extname = 'vector')
"""


def wait_for_database(say: Say, alias: str = DEFAULT_DB_ALIAS) -> None:
    """Wait until the database accepts connections, and check that BigMind can use it.

    It is normal for the server to start later than we do, or to recover from its journal first.

    Args:
        say: Called with a sentence, rarely, while it waits.
        alias: The connection to try.

    Raises:
        CannotStart: it did not in time, or is none that BigMind can use.
    """
    wait, delay = Wait(say, limit=WAIT_AT_MOST), 0.2
    variable = "BIGMIND_DATABASE_OWNER_URL" if alias == OWNER else "BIGMIND_DATABASE_URL"
    while True:
        try:
            with psycopg.connect(**{**connections[alias].get_connection_params(), "connect_timeout": 5}) as server:
                require_usable(server)
                return
        except psycopg.OperationalError as error:
            reason = _last_line(error)
        if wait.is_over:
            raise CannotStart(f"The database did not answer for {WAIT_AT_MOST:.0f} s: {reason}. Check {variable}.")
        wait(f"Waiting for the database: {reason}. If it stays so, check that it runs, and {variable}.")
        time.sleep(delay)
        delay = min(delay * 2, 3.0)


def require_usable(server: psycopg.Connection[Any]) -> None:
    """Check what no migration can mend, before anything else is asked of the database.

    Raises:
        CannotStart: the server or its pgvector is too old, or the database does not store UTF-8.
    """
    version, encoding, vector = server.execute(_WHAT_IT_IS).fetchone() or (0, "", None)
    if version // 10000 < OLDEST_SERVER:
        raise CannotStart(
            f"The database runs PostgreSQL {version // 10000}, and BigMind needs {OLDEST_SERVER} or later. Upgrade it "
            "(Debian packages of each version: apt.postgresql.org), or unset BIGMIND_DATABASE_URL to use the embedded "
            "server."
        )
    if encoding != "UTF8":
        raise CannotStart(
            f"The database stores text as {encoding}, and BigMind needs UTF8. Create another: "
            "CREATE DATABASE bigmind ENCODING 'UTF8' TEMPLATE template0;"
        )
    if vector and tuple(map(int, vector.split(".")[:2])) < OLDEST_VECTOR:
        raise CannotStart(
            f"The database has pgvector {vector}, and BigMind needs {'.'.join(map(str, OLDEST_VECTOR))} or later. "
            "Upgrade its package on the server, then have the owner of the extension run there: "
            "ALTER EXTENSION vector UPDATE;"
        )


def prepare_database(say: Say = lambda _: None) -> None:
    """Install pgvector and migrate; a part without the owner's credentials waits for one that has them.

    Raises:
        CannotStart: the server has no pgvector, or the database was not migrated in time.
    """
    try:
        connection.ensure_connection()  # By which the server says whether it is a standby.
        if is_read_only() and not settings.READ_ONLY:
            say(
                "The database takes no writes: it is a standby, or set to read only. BigMind reads and searches, and "
                "writes once the database is promoted or BIGMIND_DATABASE_URL names the primary."
            )
        if not may_change_schema():
            _wait_for_owner(say)
            return
        with one_at_a_time(owner_alias(), say):
            with owner().cursor() as cursor:  # Not the time limits of requests.
                cursor.execute("SET statement_timeout = 0")
                cursor.execute("SET idle_in_transaction_session_timeout = 0")
            install_vector()
            if pending_migrations():
                gc.enable()  # Unlike everything else before the processes start, migrations leave much garbage behind.
                call_command("migrate", interactive=False, verbosity=0)
            else:
                grant_to_application()
    finally:
        hang_up()


def _wait_for_owner(say: Say) -> None:
    """Wait until a part that knows the owner has migrated, and told the database our secret key."""
    wait = Wait(say, limit=MIGRATED_WITHIN)
    while refusal := _reason_to_wait():
        if wait.is_over:
            raise refusal
        wait(str(refusal))
        hang_up()
        time.sleep(LOOK_AGAIN)


def _reason_to_wait() -> CannotStart | None:
    if pending := _pending_as_application():
        return CannotStart(
            f"The database is not migrated ({pending[0]} …), and this role may not do it. Start a worker "
            "that has BIGMIND_DATABASE_OWNER_URL, or run there: bigmind migrate."
        )
    if not takes_our_tokens():
        return CannotStart(
            "The database does not accept the BIGMIND_SECRET_KEY of this part. Set it to that of the worker; if the "
            "key is new, restart the worker with it."
        )
    return None


def _pending_as_application() -> list[str]:
    try:
        return pending_migrations()
    except ProgrammingError:
        return ["the tables are not given to this role yet"]


def pending_migrations() -> list[str]:
    if _has_all_migrations():
        return []
    executor = MigrationExecutor(owner())
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [str(migration) for migration, _ in plan]


def _has_all_migrations() -> bool:
    """Whether every migration is recorded as applied, without importing them all at each start. If one is missing, such
    as one replaced by a squashed migration, Django is asked.
    """
    try:
        done = MigrationRecorder(owner()).applied_migrations()
    except DatabaseError:
        return False
    return bool(list_migrations()) and list_migrations() <= done.keys()


def vector_version() -> str | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        row = cursor.fetchone()
    return row[0] if row else None


def vector_advice() -> str:
    """Say what has to be done to install pgvector in the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
        if cursor.fetchone():
            return "pgvector is not installed in the database. Have its owner run there: CREATE EXTENSION vector;"
    return (
        "The database server has no pgvector. Install it there (the Debian package postgresql-<version>-pgvector, "
        "or the image pgvector/pgvector:pg18), or unset BIGMIND_DATABASE_URL to use the embedded server."
    )


def hang_up() -> None:
    """Close this thread's connections, and their pools if the settings use pools."""
    for wrapper in connections.all(initialized_only=True):
        wrapper.close()
        if isinstance(wrapper, DatabaseWrapper):
            wrapper.close_pool()


def install_vector() -> None:
    """Install pgvector in the database if it is missing.

    Raises:
        CannotStart: the server has none, or this role may not install it.
    """
    if vector_version() is None:
        try:
            with owner().cursor() as cursor:
                cursor.execute("CREATE EXTENSION vector")
        except DatabaseError:
            raise CannotStart(vector_advice()) from None


@contextmanager
def one_at_a_time(alias: str, say: Say) -> Iterator[None]:
    """Hold the migration lock, which the process may have already.

    While it waits, it has no statement open: CREATE INDEX CONCURRENTLY waits for every open statement, so the holder of
    the lock would wait for those who wait for it.

    Args:
        alias: The connection that migrates.
        say: Called with a sentence, rarely, while another process migrates.

    Raises:
        CannotStart: a pool stands before the server, and would give the lock to the next user of the session.
    """
    if is_pooled(alias):
        raise CannotStart(
            "A pool stands before the database, and migrations need a session of their own. "
            "Let BIGMIND_DATABASE_OWNER_URL reach the server past the pool, also where it names the same role."
        )
    on, wait = connections[alias], Wait(say)
    while not _has_lock(on):
        wait("Another process migrates the database; waiting for it.")
        time.sleep(LOOK_AGAIN)
    try:
        yield
    finally:
        with suppress(Error), on.cursor() as cursor:  # The lock of a connection that broke has ended with it.
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", SessionLock.MIGRATION.value)


def _has_lock(on: BaseDatabaseWrapper) -> bool:
    with on.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", SessionLock.MIGRATION.value)
        row = cursor.fetchone()
    return bool(row and row[0])


def _last_line(error: Exception) -> str:
    """libpq tries several addresses and reports one per line; the last one counts."""
    return str(error).strip().splitlines()[-1].strip().rstrip(".")

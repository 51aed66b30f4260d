"""Row-level security: PostgreSQL itself limits a request to the private rows of the user who sent it.

Services already filter by owner. Should one of them forget to, the database still holds: policies on every table of
private memory compare the row's owner with the setting `bigmind.sees` of the connection. Decision 0014 explains what
that costs, and why passages are exempt.

In a process that serves requests, each connection starts without access to any private row. Commands, tasks and
migrations work for the whole instance, and see the rows of all users.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import UUID

from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

# The policies in the migrations and the dumps of backups contain these names too.
SETTING = "bigmind.sees"
EVERYBODY = "everybody"
NOBODY = "nobody"

_first = EVERYBODY
# One round trip both reads the old value and sets the new one. `false`: for the connection, not the transaction,
# because most requests run without one.
_SEE = "SELECT current_setting(%s, true), set_config(%s, %s, false)"


def begin_seeing(whom: str) -> None:
    """Set what every connection that this process opens from now on can see at first: `NOBODY` or `EVERYBODY`."""
    global _first
    _first = whom


@contextmanager
def deny_by_default() -> Iterator[None]:
    """Open connections without access to private rows inside this block: the user is not known yet."""
    begin_seeing(NOBODY)
    try:
        yield
    finally:
        begin_seeing(EVERYBODY)


@contextmanager
def rls_scope(user_id: UUID) -> Iterator[None]:
    """Limit reads and writes inside this block to the private rows of one user."""
    with _seeing(str(user_id)):
        yield


@contextmanager
def rls_bypass() -> Iterator[None]:
    """Let queries inside this block read and write the private rows of all users.

    Wrap the one query that needs it and nothing else: reading what people chose to share, taking back a company entry
    as an admin, deleting a user with all they own. No policy protects these places, so each of them must check for
    itself what it may show.
    """
    with _seeing(EVERYBODY):
        yield


@contextmanager
def _seeing(whom: str) -> Iterator[None]:
    before = _see(whom)
    try:
        yield
    except BaseException:
        # PostgreSQL refuses `set_config` in a failed transaction. Its rollback restores the value from before anyway.
        with suppress(DatabaseError):
            _see(before)
        raise
    _see(before)


def _see(whom: str) -> str:
    """Set whose rows this connection can see, and return the value from before.

    This calls psycopg directly: every operation and every page pays for it, and Django's cursors cost twice as much.
    """
    connection.ensure_connection()
    with connection.wrap_database_errors:
        row = connection.connection.execute(_SEE, [SETTING, SETTING, whom]).fetchone()
    return str(row[0])


def _begin(connection: BaseDatabaseWrapper, **_: object) -> None:
    connection.connection.execute(_SEE, [SETTING, SETTING, _first])


connection_created.connect(_begin, dispatch_uid="bigmind.core.rls")

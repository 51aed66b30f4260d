"""The second wall: PostgreSQL itself shows a request no private rows but those of whoever asks.

The first wall is in the services: each reads what belongs to its actor. Should one of them forget to, the database
still holds: policies on every table of private memory compare its owner with the setting `bigmind.sees` of the
connection. Decision 0014 says what that costs, and why passages stand outside.

A process that answers requests begins each connection seeing nobody's rows. Commands, tasks and migrations work for the
whole house, and see everybody's.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import UUID

from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

SETTING = "bigmind.sees"
EVERYBODY = "everybody"
NOBODY = "nobody"

_first = EVERYBODY
_SEE = "SELECT current_setting(%s, true), set_config(%s, %s, false)"


def begin_seeing(whom: str) -> None:
    """Let every connection that this process opens from now on begin by seeing the rows of `NOBODY` or `EVERYBODY`."""
    global _first
    _first = whom


@contextmanager
def deny_by_default() -> Iterator[None]:
    """Let connections that are opened within begin by seeing nobody's rows: who asks is not known yet."""
    begin_seeing(NOBODY)
    try:
        yield
    finally:
        begin_seeing(EVERYBODY)


@contextmanager
def rls_scope(user_id: UUID) -> Iterator[None]:
    """Let what is done within read and write private rows of this person alone."""
    with _seeing(str(user_id)):
        yield


@contextmanager
def rls_bypass() -> Iterator[None]:
    """Let what is done within read and write everybody's private rows.

    Call this around the query that needs it and nothing else: where people chose to share, where an admin takes back
    what was stored, where somebody is deleted with all they own. Each such place is a hole in the wall, and answers
    itself for what it shows.
    """
    with _seeing(EVERYBODY):
        yield


@contextmanager
def _seeing(whom: str) -> Iterator[None]:
    before = _see(whom)
    try:
        yield
    except BaseException:
        # In a transaction that has failed nothing can be set; its end takes back what was set in it.
        with suppress(DatabaseError):
            _see(before)
        raise
    _see(before)


def _see(whom: str) -> str:
    """Set whose rows are seen, and return whose were until now.

    Straight to psycopg: every operation and every page pays for it, and Django's cursors would double the price.
    """
    connection.ensure_connection()
    with connection.wrap_database_errors:
        row = connection.connection.execute(_SEE, [SETTING, SETTING, whom]).fetchone()
    return str(row[0])


def _begin(connection: BaseDatabaseWrapper, **_: object) -> None:
    connection.connection.execute(_SEE, [SETTING, SETTING, _first])


connection_created.connect(_begin, dispatch_uid="bigmind.core.rls")

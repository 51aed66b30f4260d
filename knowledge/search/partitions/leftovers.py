"""What a run that was killed left behind: cleared away, or finished."""

from django.db import connection
from django.db.backends.utils import CursorWrapper

from bigmind.core.roles import owner, require_owner
from knowledge.search.indexes import LOCK, hold_lock

from .tables import PASSAGES, TABLES, VECTORS, partitions_of, set_autovacuum, try_patiently

WORKER_PATIENCE_SECONDS = 30.0
"""The sweep comes again in ten minutes: it must not occupy a thread of the worker for an hour."""
_CLEAR = """
DROP FUNCTION IF EXISTS {table}_note_change() CASCADE;
DROP FUNCTION IF EXISTS {table}_stay() CASCADE;
DROP TABLE IF EXISTS {table}_changed;
"""
_IS_AT_WORK = """
SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = %s AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""
_NOT_VALIDATED = """
SELECT conrelid::regclass::text, quote_ident(conname) FROM pg_constraint
WHERE contype = 'f' AND NOT convalidated AND coalesce(pg_partition_root(conrelid), conrelid) = ANY(%s::regclass[])
"""


def find_leftovers() -> list[str]:
    """Return what a run that was killed left behind; nothing while one is at work."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_AT_WORK, [LOCK])
        return [] if cursor.fetchone() == (True,) else list_leftovers(cursor)


def clear_leftovers() -> list[str]:
    """Clear away or finish what a run that was killed left behind; return what that was.

    Copies of rows are among it, which nobody changes or deletes any more.

    Raises:
        NotOwner: there is some, and this process may not touch it.
    """
    if not find_leftovers():
        return []
    require_owner("clear what partitioning left")
    with hold_lock() as is_alone, owner().cursor() as cursor:
        left = list_leftovers(cursor) if is_alone else []
        if left:
            finish(patience=WORKER_PATIENCE_SECONDS)
    return left


def list_leftovers(cursor: CursorWrapper) -> list[str]:
    """Return the tables that a run has beside both: of one that is at work, or that was killed."""
    names = [f"{table}_{end}" for table in TABLES for end in ("new", "old", "changed")]
    cursor.execute("SELECT relname FROM pg_class WHERE relname = ANY(%s) ORDER BY relname", [names])
    return [name for (name,) in cursor.fetchall()]


def finish(*, patience: float | None = None) -> None:
    """Clear away what a run left that was killed before the swap, and finish one that was killed after it."""
    with owner().cursor() as cursor:
        cursor.execute(_NOT_VALIDATED, [list(TABLES)])
        for table, name in cursor.fetchall():
            try_patiently(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}", patience)
    for table in TABLES:
        set_autovacuum(table, "RESET (autovacuum_enabled)")
    # One after the other: each lock is held for a moment alone. What is left says that there is something to finish,
    # so it goes last.
    for table in (VECTORS, PASSAGES):
        try_patiently(_CLEAR.format(table=table), patience)
        for name in (f"{table}_new", f"{table}_old"):
            # One by one: dropping a table with foreign keys locks what they lead to until the transaction ends.
            for leaf in [*partitions_of(name), name]:
                try_patiently(f"DROP TABLE IF EXISTS {leaf}", patience)

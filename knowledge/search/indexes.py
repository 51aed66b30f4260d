"""Indexes over vectors, one for each large scope in each space, and what the planner knows of the tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog
from django.db import connection
from django.db.models.functions import Now

from accounts.models import TaskTally
from accounts.services.task_statistics import last_error
from bigmind.database.advisory_locks import SessionLock
from bigmind.database.read_only import is_read_only
from bigmind.database.roles import NotOwner, owner, require_owner
from knowledge.models import EmbeddingSpace

# Autovacuum looks once a minute at most. Right after an import of 10,000 facts PostgreSQL took the tables for empty,
# and a search took 10.7 s instead of 9 ms. Decision 11.
CHANGED_ROWS = 1_000
CHANGED_SHARE = 0.5

_OUTDATED = """
SELECT relname FROM pg_stat_user_tables
WHERE schemaname = 'public' AND relname LIKE 'knowledge\\_%%' AND n_mod_since_analyze >= greatest(%s, %s * n_live_tup)
ORDER BY 1
"""

log = structlog.get_logger()

PREFIX = "knowledge_near_"
_ANY = PREFIX.replace("_", "\\_") + "%"
INDEXES = f"""(
    SELECT coalesce(json_object_agg(relname, reltuples), '{{}}')
    FROM pg_class JOIN pg_index ON pg_class.oid = pg_index.indexrelid
    WHERE starts_with(relname::text, '{PREFIX}') AND indisvalid
)"""
"""An expression for the indexes there are, each with about how many vectors it has."""

LARGE = 10_000
"""A scope with at least so many vectors gets an index. It is dropped below half of that: with one threshold, a scope
near it would rebuild its index again and again."""
MOST_DIMENSIONS = 4_000
"""The largest halfvec that pgvector can index."""
LINKS, CARE = 24, 128
"""HNSW's m and ef_construction. With pgvector's defaults, 16 and 64, one in twenty of the nearest was missed:
decision 11 compares them at 100,000 vectors."""

TASK = "knowledge.tasks.keep_indexes"
LATE = timedelta(minutes=25)
"""After two runs that did not come something is wrong."""
_SIZES = """
SELECT space_id, coalesce(replace(owner_id::text, '-', ''), 'shared'), count(vector)
FROM knowledge_passagevector GROUP BY space_id, owner_id HAVING count(vector) >= %s
"""
_THERE = """
SELECT relname, indisvalid FROM pg_class JOIN pg_index ON pg_class.oid = pg_index.indexrelid WHERE relname LIKE %s
"""
_CREATE = """
CREATE INDEX CONCURRENTLY {name} ON knowledge_passagevector
USING hnsw (({vector}) halfvec_cosine_ops) WITH (m = {links}, ef_construction = {care})
WHERE space_id = {space} AND vector IS NOT NULL AND {owner}
"""
# In the background nobody waits: one process, with as much memory as any container has.
_BACKGROUND = {
    "statement_timeout": "0",
    "maintenance_work_mem": "256MB",
    "max_parallel_maintenance_workers": "0",
}


def keep_statistics() -> list[str]:
    """Analyse the tables of memory that have changed much since the last time; return their names.

    Workers call this while they embed what was stored. ANALYZE reads a sample, in less than a second even of a large
    table, and blocks neither readers nor writers. A table that is being analysed already is skipped.

    Raises:
        NotOwner: there are some, and this process may not analyse them.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OUTDATED, [CHANGED_ROWS, CHANGED_SHARE])
        tables = [name for (name,) in cursor.fetchall()]
    if not tables:
        return []
    require_owner("analyse tables")
    with owner().cursor() as cursor:
        cursor.execute("SET statement_timeout TO 0")
        try:
            for name in tables:
                cursor.execute(f'ANALYZE (SKIP_LOCKED) "{name}"')
        finally:
            cursor.execute("RESET statement_timeout")
    log.info("Analysed tables that changed much.", tables=tables)
    return tables


def as_indexed(column: str, dimensions: int) -> str:
    """Return the expression that the indexes are built on: the column itself has no fixed length."""
    return f"({column}::halfvec({dimensions}))"


def keep_indexes() -> list[str]:
    """Create the indexes that large scopes lack, drop those that are not needed; return the names of both.

    Indexes are built one after the other, by one process at a time, without blocking readers or writers. Returns
    nothing where another process is building.

    Raises:
        NotOwner: this process may not build them.
    """
    require_owner("build indexes")
    with _hold_lock() as is_alone, owner().cursor() as cursor:
        if not is_alone:
            return []
        cursor.execute(_THERE, [_ANY])
        there = dict(cursor.fetchall())
        sizes = _sizes()
        # An invalid one is what a CREATE that was interrupted left behind.
        dropped = [name for name, is_valid in there.items() if not is_valid or name not in sizes]
        for name in dropped:
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        made = [name for name, size in sizes.items() if size >= LARGE and (name not in there or name in dropped)]
        for name in made:
            cursor.execute(_definition(name))
            log.info("A large scope has an index of its own.", index=name, vectors=sizes[name])
    return [*dropped, *made]


def drop_indexes(space: EmbeddingSpace) -> None:
    """Drop the indexes of a space whose vectors are all about to change: each index would slow every change down.

    Search compares every vector until `keep_indexes` has built them again. Readers and writers are not blocked.

    Raises:
        NotOwner: this process may not drop them.
    """
    require_owner("drop indexes")
    with _hold_lock() as is_alone, owner().cursor() as cursor:
        if not is_alone:
            return
        cursor.execute(_THERE, [f"{PREFIX}{space.pk}\\_%"])
        for name, _ in cursor.fetchall():
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def indexes_error() -> str:
    """Say why nobody maintains the indexes, as the last run of a worker left it; nothing where it did its work."""
    if is_read_only():
        return ""
    error = last_error(TASK)
    if error == NotOwner.__name__:
        return "are not maintained: the worker does not own the tables; set its BIGMIND_DATABASE_OWNER_URL, past a pool"
    if error:
        return f"are not maintained: the last run failed ({error}); worker.log says why"
    late = TaskTally.objects.filter(task=TASK, scheduled_at__lt=Now() - LATE).first()
    if late:
        return f"are not maintained since {late.scheduled_at:%Y-%m-%d %H:%M} UTC: start a worker and a scheduler"
    return ""


def _sizes() -> dict[str, int]:
    """Return the names of the indexes that should exist, or may stay, each with the number of vectors."""
    spaces = dict(EmbeddingSpace.objects.filter(dimensions__lte=MOST_DIMENSIONS).values_list("pk", "dimensions"))
    with owner().cursor() as cursor:
        cursor.execute(_SIZES, [LARGE // 2])
        rows = cursor.fetchall()
    return {f"{PREFIX}{space}_{scope}": size for space, scope, size in rows if space in spaces}


def _definition(name: str) -> str:
    space, _, scope = name.removeprefix(PREFIX).partition("_")
    dimensions = EmbeddingSpace.objects.get(pk=space).dimensions
    return _CREATE.format(
        name=name,
        vector=as_indexed("vector", dimensions),
        links=LINKS,
        care=CARE,
        space=space,
        owner="owner_id IS NULL" if scope == "shared" else f"owner_id = '{scope}'",
    )


@contextmanager
def _hold_lock() -> Iterator[bool]:
    """Hold the advisory lock of building indexes; yield False at once if another process holds it.

    A session lock, not one of a transaction: CREATE INDEX CONCURRENTLY cannot run inside a transaction.
    """
    with owner().cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", SessionLock.INDEXES.value)
        is_alone = bool(cursor.fetchone()[0])
        if not is_alone:
            log.info("Another process is at work on indexes; this one leaves them alone.")
            yield False
            return
        try:
            for name, value in _BACKGROUND.items():
                cursor.execute(f"SET {name} TO '{value}'")
            yield True
        finally:
            for name in _BACKGROUND:
                cursor.execute(f"RESET {name}")
            cursor.execute("SELECT pg_advisory_unlock(%s)", SessionLock.INDEXES.value)

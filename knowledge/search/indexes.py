"""Indexes over vectors: one for each large scope in each space, made and dropped as scopes grow and shrink.

Measured before and after (decision 11): one index over everybody's vectors, with a filter behind it, returns a fraction
of what it should; every vector of an owner compared is exact, and fast up to some ten thousand.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from bigmind.core.roles import may_change_schema, owner
from knowledge.models import EmbeddingSpace
from knowledge.search.scopes import PREFIX

LARGE = 10_000
"""From so many vectors on a scope has an index. It loses it below half of that, so that it does not come and go."""
MOST_DIMENSIONS = 4_000
"""What pgvector can index of a halfvec."""
LINKS, CARE = 24, 128
"""HNSW's m and ef_construction. With pgvector's defaults, 16 and 64, one in twenty of the nearest was missed."""

LOCK = 0x6E656172  # "near"
_SIZES = """
SELECT space_id, coalesce(replace(owner_id::text, '-', ''), 'shared'), count(vector)
FROM knowledge_passagevector GROUP BY space_id, owner_id HAVING count(vector) >= %s
"""
_THERE = """
SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid
WHERE indrelid = 'knowledge_passagevector'::regclass AND relname LIKE %s
"""
_CREATE = """
CREATE INDEX CONCURRENTLY {name} ON knowledge_passagevector
USING hnsw (({vector}) halfvec_cosine_ops) WITH (m = {links}, ef_construction = {care})
WHERE space_id = {space} AND vector IS NOT NULL AND {owner}
"""
# In the background nobody waits: one process, within a memory that any container has.
_AT_LEISURE = {
    "statement_timeout": "0",
    "maintenance_work_mem": "256MB",
    "max_parallel_maintenance_workers": "0",
}

log = structlog.get_logger()


def as_indexed(column: str, dimensions: int) -> str:
    """Return how a column of vectors must be written for an index to be used: the column itself has no length."""
    return f"({column}::halfvec({dimensions}))"


def keep_indexes() -> list[str]:
    """Make the indexes that large scopes lack, drop those nobody needs; return the names of both.

    One after the other, and by one process at a time. Nobody who reads or writes has to wait meanwhile.
    """
    if not may_change_schema():
        return []  # A worker that knows the owner of the tables does it.
    with _alone() as is_alone, owner().cursor() as cursor:
        if not is_alone:
            return []
        cursor.execute(_THERE, [f"{PREFIX}%"])
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
    """Drop the indexes of a space whose vectors are all about to change: each would slow every change down.

    Search looks at every vector until `keep_indexes` has made them again. Nobody who reads or writes has to wait.
    """
    if not may_change_schema():
        return
    with _alone() as is_alone, owner().cursor() as cursor:
        if not is_alone:
            return
        cursor.execute(_THERE, [f"{PREFIX}{space.pk}\\_%"])
        for name, _ in cursor.fetchall():
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def _sizes() -> dict[str, int]:
    """The names of the indexes that there should be, or may stay, each with the number of vectors."""
    spaces = dict(EmbeddingSpace.objects.filter(dimensions__lte=MOST_DIMENSIONS).values_list("pk", "dimensions"))
    with owner().cursor() as cursor:
        cursor.execute(_SIZES, [LARGE // 2])
        return {f"{PREFIX}{space}_{scope}": size for space, scope, size in cursor.fetchall() if space in spaces}


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
def _alone() -> Iterator[bool]:
    """Take the one turn there is, for as long as it takes; say whether it was free."""
    with owner().cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        is_alone = bool(cursor.fetchone()[0])
        if not is_alone:
            yield False
            return
        try:
            for name, value in _AT_LEISURE.items():
                cursor.execute(f"SET {name} TO '{value}'")
            yield True
        finally:
            for name in _AT_LEISURE:
                cursor.execute(f"RESET {name}")
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])

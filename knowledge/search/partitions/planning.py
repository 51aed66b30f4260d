"""Plans and carries out a change of how passages and vectors are divided."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from django.db import DatabaseError
from django.db.backends.utils import CursorWrapper

from bigmind.core.errors import BigMindError, Conflict, Invalid
from bigmind.core.roles import NotOwner, owner, require_owner
from knowledge.search.indexes import hold_lock

from .leftovers import finish, list_leftovers
from .making import Move, Tell
from .tables import TABLES, VECTORS, count_partitions, leaves_of

USUAL = 16
"""In this many, a search of 100,000 passages takes 1.08 to 1.24 times as long as in plain tables."""
MOST = 64
"""A write that names only a thing looks into every partition, and locks each until it ends (docs/growing.md)."""
_REFERRING = """
SELECT DISTINCT conrelid::regclass::text FROM pg_constraint
WHERE contype = 'f' AND confrelid = ANY(%s::regclass[])
    AND coalesce(pg_partition_root(conrelid), conrelid) <> %s::regclass
UNION SELECT ev_class::regclass::text FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid
WHERE classid = 'pg_rewrite'::regclass AND refobjid = ANY(%s::regclass[])
"""
_PUBLISHED = "SELECT DISTINCT pubname FROM pg_publication_tables WHERE schemaname = 'public' AND tablename = ANY(%s)"
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint, coalesce(sum(greatest(reltuples, 0)), 0)::bigint
FROM pg_class WHERE relkind = 'r' AND coalesce(pg_partition_root(oid), oid) = to_regclass(%s)
"""


@dataclass(frozen=True)
class TableShape:
    """One of both tables: how large it is with its indexes, and about how many rows it has."""

    table: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class PartitionPlan:
    """What changing the shape would mean: from so many partitions for owners to so many; 0 are plain tables.

    Attributes:
        needs_bytes: About how much of the disk the new tables take; so much is free again when the old ones are gone.
        free_bytes: How much the disk of the database has, where that is on this machine.
        left_over: What a run that was killed left behind; the next one clears or finishes it.
        refusals: What is in the way.
    """

    partitions: int
    wanted: int
    tables: list[TableShape]
    needs_bytes: int
    free_bytes: int | None
    left_over: list[str]
    refusals: list[str]


@dataclass(frozen=True)
class Repartitioned:
    """What was done, if anything was to be done, and how long nobody could reach the tables."""

    partitions: int
    changed: bool = False
    held_seconds: float = 0.0


def plan_partitions(wanted: int, *, free_bytes: int | None = None) -> PartitionPlan:
    """Return what changing the tables to so many partitions would mean; 0 are plain tables.

    Args:
        free_bytes: How much the disk of the database can still take, where that is known.
    """
    if wanted and not 2 <= wanted <= MOST:
        raise Invalid(f"There can be 2 to {MOST} partitions.")
    with owner().cursor() as cursor:
        tables = [_measure(cursor, table) for table in TABLES]
        left_over, refusals = list_leftovers(cursor), [*_refusals(cursor, wanted)]
    now, needs = count_partitions(), sum(one.bytes for one in tables)
    if now != wanted and free_bytes is not None and free_bytes < needs:
        refusals.append(f"The disk of the database has {free_bytes:,} bytes free, and {needs:,} are needed.")
    return PartitionPlan(now, wanted, tables, needs, free_bytes, left_over, refusals)


def change_partitions(wanted: int, *, tell: Tell = lambda text: None) -> Repartitioned:
    """Divide passages and vectors into so many partitions by owner, and one of what is shared; 0: make them whole.

    Everybody reads and writes meanwhile, and waits for a moment when the new tables take the place of the old ones.
    May be killed at any point, and run again.

    Raises:
        Conflict: something is in the way, tables stayed in use, or another process makes indexes.
    """
    if refusals := plan_partitions(wanted).refusals:
        raise Conflict(" ".join(refusals))
    with hold_lock() as is_alone:
        if not is_alone:
            raise Conflict("Another process is making indexes or partitions.", hint="Try again in a few minutes.")
        finish()
        if count_partitions() == wanted:
            return Repartitioned(wanted)
        try:
            with owner().cursor() as cursor:
                held = Move(cursor, wanted, tell).run()
        # Also Ctrl+C: copies that stay behind would keep rows that are deleted from now on.
        except BaseException:
            with suppress(BigMindError, DatabaseError):  # Else the next run does.
                finish()
            raise
        tell("Dropping the old tables.")
        finish()
    return Repartitioned(wanted, changed=True, held_seconds=held)


def _measure(cursor: CursorWrapper, table: str) -> TableShape:
    cursor.execute(_SIZE, [table])
    size, rows = cursor.fetchone()
    return TableShape(table, rows, size)


def _refusals(cursor: CursorWrapper, wanted: int) -> Iterator[str]:
    try:
        require_owner("divide the tables")
    except NotOwner as refusal:
        yield str(refusal)
    if wanted and count_partitions() not in {0, wanted}:
        yield "There are partitions already: make the tables whole first, with --undo."
    cursor.execute("SELECT relname FROM pg_class WHERE relname = ANY(%s) AND relrowsecurity", [list(TABLES)])
    yield from (f"{name} has policies, which this command does not carry over." for (name,) in cursor.fetchall())
    cursor.execute(_REFERRING, [list(TABLES), VECTORS, list(TABLES)])
    yield from (f"{name} refers to these tables, and could not any more." for (name,) in cursor.fetchall())
    cursor.execute(_PUBLISHED, [[leaf for table in TABLES for leaf in (table, *leaves_of(table))]])
    yield from (f"Subscribers of the publication {name} do not have the new tables." for (name,) in cursor.fetchall())

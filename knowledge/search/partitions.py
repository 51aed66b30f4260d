"""Partitions of passages and vectors: by their owner, what is shared apart. They come and go while everybody works.

Beside both tables, new ones of the other shape are filled; then these take their names, in one short transaction. Until
then nothing that serves knows of them: a trigger notes which rows change, and those are copied again. What was killed
before that moment is cleared away by the next run, and what was killed after it is finished.

The keys are those of each partition, so nobody who writes has to know them: docs/decisions/0069 says why that is sound.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.errors import DeadlockDetected, LockNotAvailable

from bigmind.core.errors import BigMindError, Conflict, Invalid
from bigmind.core.roles import is_pooled, may_change_schema, owner, owner_alias
from knowledge.search.indexes import LOCK, PREFIX, hold_lock

PASSAGES, VECTORS = "knowledge_passage", "knowledge_passagevector"
TABLES = (PASSAGES, VECTORS)
REFERRED = ("accounts_user", "knowledge_embeddingspace")
"""What the foreign keys of both lead to besides."""
USUAL, MOST = 16, 64

BATCH, TOLD = 5_000, 100_000
ALL = 2**63 - 1
FEW_CHANGES = 500
"""So many rows are copied again within the transaction that swaps the tables, at the most."""
BACKUP_LOCK = (7700, 2)
"""`bigmind/backup/making.py:LOCK`. A backup sees the database as it was at one moment: new tables were empty."""
# Several locks are taken one after the other: together less than the second after which PostgreSQL looks for deadlocks,
# so that whoever waits for us never is the one that is ended.
LOCK_TIMEOUT = "200ms"
PATIENCE_SECONDS = 3600.0
"""A backup that reads the tables holds them until it is done; what was copied by then should not be in vain."""
WORKER_PATIENCE_SECONDS = 30.0
PAUSE_SECONDS, LONGEST_PAUSE = 1.0, 10.0

_LIKE = """
(LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY INCLUDING STORAGE INCLUDING COMPRESSION
    INCLUDING COMMENTS)
"""
# Rows that were written before the trigger was there have been committed by then: making it waits for them.
_NOTE_CHANGES = """
CREATE TABLE {table}_changed (id bigint NOT NULL);
CREATE FUNCTION {table}_note_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO public.{table}_changed VALUES (CASE WHEN TG_OP = 'DELETE' THEN OLD.id ELSE NEW.id END);
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION {table}_note_change() FROM PUBLIC;
CREATE TRIGGER {table}_note_change AFTER INSERT OR UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {table}_note_change();
CREATE FUNCTION {table}_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE lock_not_available USING MESSAGE = '{table} is being copied: try again when that is done.';
END $$;
CREATE TRIGGER {table}_stay BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {table}_stay();
"""
_CLEAR = """
DROP FUNCTION IF EXISTS {table}_note_change() CASCADE;
DROP FUNCTION IF EXISTS {table}_stay() CASCADE;
DROP TABLE IF EXISTS {table}_changed;
"""
_COPY = """
WITH copied AS (
    INSERT INTO {table}_new ({columns})
    SELECT {columns} FROM {table} WHERE id > %s ORDER BY id LIMIT {batch} RETURNING id
)
SELECT count(*), max(id) FROM copied
"""
_SUMS = """
SELECT owner_id, count(*), bit_xor(hashtextextended(one::text, 0)) FROM {table} AS one
WHERE id <> ALL(%s) GROUP BY owner_id
"""
_COLUMNS = """
SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
_KEYS = """
SELECT conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = %s::regclass AND contype IN ('p', 'u', 'f') ORDER BY conname
"""
_INDEXES = """
SELECT relname, indisunique, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = %s::regclass AND indisvalid AND NOT starts_with(relname, %s)
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)
ORDER BY relname
"""
_NEAR = """
SELECT relname, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE starts_with(relname, %s) AND relname NOT LIKE '%%\\_new' AND indisvalid ORDER BY relname
"""
_TRIGGERS = """
SELECT pg_get_triggerdef(oid) FROM pg_trigger
WHERE tgrelid = %s::regclass AND NOT tgisinternal AND NOT starts_with(tgname, %s) ORDER BY tgname
"""
_RIGHTS = """
SELECT format('GRANT %%s ON {table}_new TO %%s', privilege_type, coalesce(nullif(grantee, 0)::regrole::text, 'PUBLIC'))
FROM pg_class, aclexplode(relacl) WHERE oid = %s::regclass AND grantee <> relowner
"""
_REFERRING = """
SELECT DISTINCT conrelid::regclass::text FROM pg_constraint
WHERE contype = 'f' AND confrelid = ANY(%s::regclass[])
    AND coalesce(pg_partition_root(conrelid), conrelid) <> %s::regclass
UNION SELECT ev_class::regclass::text FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid
WHERE classid = 'pg_rewrite'::regclass AND refobjid = ANY(%s::regclass[])
"""
_PUBLISHED = "SELECT DISTINCT pubname FROM pg_publication_tables WHERE schemaname = 'public' AND tablename = ANY(%s)"
# All that a migration could change while rows are copied. Our own triggers begin with the name of a table.
_DEFINED = """
WITH tables AS (SELECT unnest(%s::regclass[])::oid AS oid)
SELECT attname, concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid))
FROM tables JOIN pg_attribute ON attrelid = oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attnum > 0 AND NOT attisdropped
UNION ALL SELECT conname, pg_get_constraintdef(pg_constraint.oid)
    FROM tables JOIN pg_constraint ON conrelid = tables.oid
UNION ALL SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM tables JOIN pg_index ON indrelid = oid
UNION ALL SELECT tgname, pg_get_triggerdef(pg_trigger.oid) FROM tables JOIN pg_trigger ON tgrelid = tables.oid
    WHERE NOT tgisinternal AND NOT starts_with(tgname, %s)
UNION ALL SELECT relname, concat_ws(' ', relacl, relrowsecurity) FROM tables JOIN pg_class USING (oid)
ORDER BY 1, 2
"""
_IS_AT_WORK = """
SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = %s AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""
_NOT_VALIDATED = """
SELECT conrelid::regclass::text, quote_ident(conname) FROM pg_constraint
WHERE contype = 'f' AND NOT convalidated AND coalesce(pg_partition_root(conrelid), conrelid) = ANY(%s::regclass[])
"""
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint, coalesce(sum(greatest(reltuples, 0)), 0)::bigint
FROM pg_class WHERE relkind = 'r' AND coalesce(pg_partition_root(oid), oid) = to_regclass(%s)
"""
_PARTITIONS = "SELECT relid::regclass::text FROM pg_partition_tree(to_regclass(%s)) WHERE isleaf ORDER BY 1"
_OPTIONS = "SELECT coalesce(array_to_string(reloptions, ', '), '') FROM pg_class WHERE oid = %s::regclass"
_SEQUENCES = "SELECT pg_get_serial_sequence(%s, 'id'), pg_get_serial_sequence(%s, 'id')"
_TO_PASSAGES = re.compile(rf"REFERENCES (?:public\.)?{PASSAGES}(?:_shared)?\(")

Tell = Callable[[str], None]


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


@dataclass
class _Definitions:
    """What belongs to a table besides its columns, by the names that it has where the table is plain."""

    primary: tuple[str, str]
    unique: list[tuple[str, str]]
    foreign: list[tuple[str, str]]
    indexes: list[tuple[str, bool, str]]
    triggers: list[str]
    options: str


def count_partitions() -> int:
    """Return how many partitions there are for owners; 0: the tables are plain."""
    return max(0, len(_partitions_of(PASSAGES)) - 1)


def leaves_of(table: str) -> list[str]:
    """Return the partitions that hold the rows of a table; for a plain table itself."""
    return _partitions_of(table) or [table]


def _partitions_of(table: str) -> list[str]:
    """Return the partitions that hold the rows of a table; nothing where it is plain, or not there."""
    with owner().cursor() as cursor:
        cursor.execute(_PARTITIONS, [table])
        return [name for (name,) in cursor.fetchall()]


def plan_partitions(wanted: int, *, free_bytes: int | None = None) -> PartitionPlan:
    """Return what changing the tables to so many partitions would mean; 0 are plain tables.

    Args:
        free_bytes: How much the disk of the database can still take, where that is known.
    """
    if wanted and not 2 <= wanted <= MOST:
        raise Invalid(f"There can be 2 to {MOST} partitions.")
    with owner().cursor() as cursor:
        tables = [_measure(cursor, table) for table in TABLES]
        left_over, refusals = _leftovers(cursor), [*_refusals(cursor, wanted)]
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
        _finish()
        if count_partitions() == wanted:
            return Repartitioned(wanted)
        try:
            with owner().cursor() as cursor:
                held = _Move(cursor, wanted, tell).run()
        except BaseException:
            with suppress(BigMindError, DatabaseError):  # Else the next run does.
                _finish()
            raise
        tell("Dropping the old tables.")
        _finish()
    return Repartitioned(wanted, changed=True, held_seconds=held)


def find_leftovers() -> list[str]:
    """Return what a run that was killed left behind; nothing while one is at work."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_AT_WORK, [LOCK])
        return [] if cursor.fetchone() == (True,) else _leftovers(cursor)


def clear_leftovers() -> list[str]:
    """Clear away or finish what a run that was killed left behind; return what that was.

    Copies of rows are among it, which nobody changes or deletes any more.
    """
    if not may_change_schema() or not find_leftovers():
        return []
    with hold_lock() as is_alone, owner().cursor() as cursor:
        left = _leftovers(cursor) if is_alone else []
        if left:
            _finish(patience=WORKER_PATIENCE_SECONDS)
    return left


def _measure(cursor: CursorWrapper, table: str) -> TableShape:
    cursor.execute(_SIZE, [table])
    size, rows = cursor.fetchone()
    return TableShape(table, rows, size)


def _refusals(cursor: CursorWrapper, wanted: int) -> Iterator[str]:
    if not may_change_schema():
        yield "This role does not own the tables: set BIGMIND_DATABASE_OWNER_URL."
    if is_pooled(owner_alias()):
        yield "The connection of the owner leads through a pool: BIGMIND_DATABASE_OWNER_URL must lead to the server."
    if wanted and count_partitions() not in {0, wanted}:
        yield "There are partitions already: make the tables whole first, with --undo."
    cursor.execute("SELECT relname FROM pg_class WHERE relname = ANY(%s) AND relrowsecurity", [list(TABLES)])
    yield from (f"{name} has policies, which this command does not carry over." for (name,) in cursor.fetchall())
    cursor.execute(_REFERRING, [list(TABLES), VECTORS, list(TABLES)])
    yield from (f"{name} refers to these tables, and could not any more." for (name,) in cursor.fetchall())
    cursor.execute(_PUBLISHED, [[leaf for table in TABLES for leaf in (table, *leaves_of(table))]])
    yield from (f"Subscribers of the publication {name} do not have the new tables." for (name,) in cursor.fetchall())


def _leftovers(cursor: CursorWrapper) -> list[str]:
    names = [f"{table}_{end}" for table in TABLES for end in ("new", "old", "changed")]
    cursor.execute("SELECT relname FROM pg_class WHERE relname = ANY(%s) ORDER BY relname", [names])
    return [name for (name,) in cursor.fetchall()]


def _finish(*, patience: float | None = None) -> None:
    """Clear away what a run left that was killed before the swap, and finish one that was killed after it."""
    with owner().cursor() as cursor:
        cursor.execute(_NOT_VALIDATED, [list(TABLES)])
        for table, name in cursor.fetchall():
            _try_patiently(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}", patience)
    for table in TABLES:
        _set_autovacuum(table, "RESET (autovacuum_enabled)")
    # One after the other: each lock is held for a moment alone. What is left says that there is something to finish,
    # so it goes last.
    for table in (VECTORS, PASSAGES):
        _try_patiently(_CLEAR.format(table=table), patience)
        for name in (f"{table}_new", f"{table}_old"):
            # One by one: whoever drops a table with foreign keys locks what they lead to until its transaction ends.
            for leaf in [*_partitions_of(name), name]:
                _try_patiently(f"DROP TABLE IF EXISTS {leaf}", patience)


def _set_autovacuum(table: str, how: str) -> None:
    """Let PostgreSQL vacuum a table by itself, or not: who does holds a lock that ours would wait for.

    One that has begun gives way. Neither readers nor writers wait for this.
    """
    with owner().cursor() as cursor:
        for leaf in leaves_of(table):
            cursor.execute(f"ALTER TABLE {leaf} {how}")


def _try_patiently(step: str | Callable[[CursorWrapper], None], patience: float | None = None) -> None:
    """Do something in a transaction that gives up soon where it has to wait for a lock, and try again.

    Anyone who comes after a statement that waits for a lock waits as well.
    """
    give_up, pause = monotonic() + (PATIENCE_SECONDS if patience is None else patience), PAUSE_SECONDS
    while True:
        try:
            with transaction.atomic(using=owner_alias()), owner().cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout TO '{LOCK_TIMEOUT}'")
                if isinstance(step, str):
                    cursor.execute(step)
                else:
                    step(cursor)
                return
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                raise
            if monotonic() > give_up:
                raise Conflict("The tables stayed in use.", hint="Nothing is lost: run the command again.") from error
        sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


@contextmanager
def _one_moment(cursor: CursorWrapper) -> Iterator[None]:
    """A transaction that sees the tables as they are at one moment, to its end."""
    with transaction.atomic(using=owner_alias()):
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


class _Move:
    """The way of both tables from one shape to the other."""

    def __init__(self, cursor: CursorWrapper, wanted: int, tell: Tell) -> None:
        self._cursor, self._wanted, self._tell = cursor, wanted, tell
        self._ends = ["_shared", *(f"_owned_{number:02}" for number in range(wanted))] if wanted else [""]
        self._swap_began = 0.0
        self._copied_to = dict.fromkeys(TABLES, 0)
        self._before = self._all_definitions()  # First: what changes after this is noticed.
        self._columns = {table: self._ask(_COLUMNS, table)[0][0] for table in TABLES}
        self._defined = {table: self._read_definitions(table) for table in TABLES}
        self._near = self._ask(_NEAR, PREFIX)

    def run(self) -> float:
        """Go it; return for how many seconds nobody else could reach the tables."""
        for table in TABLES:
            self._make(table)
            _set_autovacuum(table, "SET (autovacuum_enabled = false)")
            _try_patiently(_NOTE_CHANGES.format(table=table))
        for table in TABLES:
            self._copy(table)
            self._tell(f"{table}: making its indexes.")
            self._make_indexes(table)
        self._make_near_indexes()
        self._tell("Comparing the new tables with the old ones.")
        self._compare()
        self._tell("Putting the new tables in place of the old ones.")
        self._catch_up()
        _try_patiently(self._swap)
        return monotonic() - self._swap_began

    def _ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        self._cursor.execute(query, values or None)
        return list(self._cursor.fetchall())

    def _do(self, statement: str) -> None:
        self._cursor.execute(statement)

    def _leaves(self, table: str) -> Iterator[tuple[str, str]]:
        """Yield each new table that holds rows, by its name before the swap, and how names end that belong to it."""
        for end in self._ends:
            yield f"{table}{end or '_new'}", end

    def _read_definitions(self, table: str) -> _Definitions:
        """Read what belongs to the table; where it is partitioned, to that of what is shared: all are alike."""
        ((is_partitioned,),) = self._ask("SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass", table)
        end = "_shared" if is_partitioned else ""
        keys: dict[str, list[tuple[str, str]]] = {"p": [], "u": [], "f": []}
        for name, kind, definition in self._ask(_KEYS, table + end):
            keys[kind].append((name if kind == "f" else name.removesuffix(end), definition))
        return _Definitions(
            primary=keys["p"][0],
            unique=keys["u"],
            foreign=keys["f"],
            indexes=[
                (name.removesuffix(end), is_unique, _after_table(definition))
                for name, is_unique, definition in self._ask(_INDEXES, table + end, PREFIX)
            ],
            triggers=[definition for (definition,) in self._ask(_TRIGGERS, table, table)],
            options=self._ask(_OPTIONS, table + end)[0][0],
        )

    def _all_definitions(self) -> list[tuple[Any, ...]]:
        tables = [name for table in TABLES for name in {table, *leaves_of(table)}]
        return self._ask(_DEFINED, tables, PASSAGES)

    def _make(self, table: str) -> None:
        """Make the new table, with its primary key alone: so is it filled sooner."""
        like = _LIKE.format(table=table)
        name, key = self._defined[table].primary
        with transaction.atomic(using=owner_alias()):
            if not self._wanted:
                self._do(f"CREATE TABLE {table}_new {like}")
            else:
                self._do(f"CREATE TABLE {table}_new {like} PARTITION BY LIST (owner_id)")
                self._do(f"CREATE TABLE {table}_shared PARTITION OF {table}_new FOR VALUES IN (NULL)")
                self._do(f"CREATE TABLE {table}_owned PARTITION OF {table}_new DEFAULT PARTITION BY HASH (owner_id)")
            for number in range(self._wanted):
                share = f"(MODULUS {self._wanted}, REMAINDER {number})"
                self._do(f"CREATE TABLE {table}_owned_{number:02} PARTITION OF {table}_owned FOR VALUES WITH {share}")
            for leaf, end in self._leaves(table):
                self._do(f"ALTER TABLE {leaf} ADD CONSTRAINT {name}{end} {key}")
                if options := self._defined[table].options:
                    self._do(f"ALTER TABLE {leaf} SET ({options})")
            for (grant,) in self._ask(_RIGHTS.format(table=table), table):
                self._do(grant)

    def _copy(self, table: str) -> None:
        """Copy the rows in batches, each as they are at one moment, together with what has changed until then."""
        copy = _COPY.format(table=table, columns=self._columns[table], batch=BATCH)
        done, last = 0, 0
        while last is not None:
            with _one_moment(self._cursor):
                self._copy_changes(table)
                ((count, last),) = self._ask(copy, self._copied_to[table])
            done, self._copied_to[table] = done + count, ALL if last is None else last
            if last is None or done % TOLD < BATCH:
                self._tell(f"{table}: {done:,} rows copied.")

    def _copy_changes(self, table: str) -> int:
        """Copy again what has changed since it was copied, of the part that was; return how many rows changed."""
        ids = [id for (id,) in self._ask(f"DELETE FROM {table}_changed RETURNING id")]
        if ids:
            columns = self._columns[table]
            self._cursor.execute(f"DELETE FROM {table}_new WHERE id = ANY(%s)", [ids])
            self._cursor.execute(
                f"INSERT INTO {table}_new ({columns}) SELECT {columns} FROM {table} WHERE id = ANY(%s) AND id <= %s",
                [ids, self._copied_to[table]],
            )
        return len(ids)

    def _catch_up(self) -> None:
        """Copy what has changed until little is left to copy while nobody else can reach the tables."""
        changed = FEW_CHANGES + 1
        while changed > FEW_CHANGES:
            changed = 0
            for table in TABLES:
                with _one_moment(self._cursor):
                    changed += self._copy_changes(table)

    def _make_indexes(self, table: str) -> None:
        """Make indexes and unique constraints. Nobody uses the new tables yet, so nobody waits."""
        with _one_moment(self._cursor):
            self._copy_changes(table)  # Until now there could be two rows of one key, an older one and its successor.
        defined = self._defined[table]
        for leaf, end in self._leaves(table):
            for name, key in defined.unique:
                self._do(f"ALTER TABLE {leaf} ADD CONSTRAINT {name}{end} {key}")
            for name, is_unique, tail in defined.indexes:
                self._do(f"CREATE {'UNIQUE' if is_unique else ''} INDEX {name}{end} ON {leaf} {tail}")
        self._do(f"ANALYZE {table}_new")

    def _make_near_indexes(self) -> None:
        """Make the indexes over the vectors of large scopes, each where its scope is now."""
        for name, definition in self._near:
            scope = name.rpartition("_")[2]
            whose = "owner_id IS NULL" if scope == "shared" else f"owner_id = '{scope}'"
            there = self._ask(f"SELECT tableoid::regclass::text FROM {VECTORS}_new WHERE {whose} LIMIT 1")
            if there:
                self._tell(f"{VECTORS}: making {name}.")
                self._do(f"CREATE INDEX {name}_new ON {there[0][0]} {_after_table(definition)}")

    def _compare(self) -> None:
        """Compare the rows of each owner: how many there are, and what they are to the last character."""
        self._catch_up()
        with _one_moment(self._cursor):
            for table in TABLES:
                pending = [id for (id,) in self._ask(f"SELECT DISTINCT id FROM {table}_changed")]
                old, new = (set(self._ask(_SUMS.format(table=one), pending)) for one in (table, f"{table}_new"))
                if old != new:
                    raise Conflict(f"The new {table} is not what the old one is.", hint="Nothing was changed.")

    def _swap(self, cursor: CursorWrapper) -> None:
        """Let the new tables take the names of the old ones, with all that is left to do, in one transaction."""
        self._swap_began = monotonic()
        if self._ask("SELECT pg_try_advisory_xact_lock(%s, %s)", *BACKUP_LOCK) != [(True,)]:
            raise OperationalError from LockNotAvailable()
        self._do(f"LOCK TABLE {', '.join(REFERRED)} IN SHARE ROW EXCLUSIVE MODE")
        self._do(f"LOCK TABLE {', '.join(TABLES)} IN ACCESS EXCLUSIVE MODE")
        if self._all_definitions() != self._before:
            raise Conflict("The tables were changed meanwhile, as migrations do.", hint="Run the command again.")
        near = {name for (name,) in self._ask("SELECT relname FROM pg_class WHERE starts_with(relname, %s)", PREFIX)}
        for table in TABLES:
            self._copy_changes(table)
            ((old, new),) = self._ask(_SEQUENCES, table, f"{table}_new")
            self._do(f"SELECT setval('{new}', last_value, is_called) FROM {old}")
            self._do(f"ALTER SEQUENCE {old} RENAME TO {table}_id_seq_old")
            self._do(f"ALTER SEQUENCE {new} RENAME TO {table}_id_seq")
            self._do(f"ALTER TABLE {table} RENAME TO {table}_old")
            self._do(f"ALTER TABLE {table}_new RENAME TO {table}")
            self._do(f"DROP FUNCTION {table}_stay() CASCADE")
        for name, _ in self._near:
            self._do(f"ALTER INDEX {name} RENAME TO {name}_old")
            if f"{name}_new" in near:
                self._do(f"ALTER INDEX {name}_new RENAME TO {name}")
        # Their rows would keep users from being deleted until they are dropped.
        self._do(f"TRUNCATE {', '.join(f'{table}_old' for table in TABLES)}")
        for table in TABLES:
            for end in self._ends:
                for name, key in self._defined[table].foreign:
                    there = _TO_PASSAGES.sub(f"REFERENCES {PASSAGES}{end}(", key).removesuffix(" NOT VALID")
                    self._do(f"ALTER TABLE {table}{end} ADD CONSTRAINT {name} {there} NOT VALID")
            for trigger in self._defined[table].triggers:
                self._do(trigger)


def _after_table(definition: str) -> str:
    """Return the part of the definition of an index that says how it is made, without its name and its table."""
    return definition[definition.index(" USING ") :]

"""Makes the partitions, or plain tables again, and moves passages and vectors into them."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from django.db import OperationalError, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.errors import LockNotAvailable

from bigmind.core.errors import Conflict
from bigmind.core.roles import owner_alias
from knowledge.search.indexes import PREFIX

from .tables import PASSAGES, TABLES, VECTORS, leaves_of, set_autovacuum, try_patiently

REFERRED = ("accounts_user", "knowledge_embeddingspace")
"""What the foreign keys of both lead to besides."""

BATCH = 5_000
TOLD = 100_000
ALL = 2**63 - 1
FEW_CHANGES = 500
"""So many rows are copied again within the transaction that swaps the tables, at the most."""
BACKUP_LOCK = (7700, 2)
"""`bigmind/backup/making.py:LOCK`. A backup sees the database as it was at one moment: new tables were empty."""

_LIKE = """
(LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY INCLUDING STORAGE INCLUDING COMPRESSION
    INCLUDING COMMENTS)
"""
# SECURITY DEFINER: the application writes the passages and has no rights on our notes. The path is set, so that nobody
# can put a table of the same name before ours. The second trigger is for TRUNCATE, at which row triggers do not fire.
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
_COPY = """
WITH copied AS (
    INSERT INTO {table}_new ({columns})
    SELECT {columns} FROM {table} WHERE id > %s ORDER BY id LIMIT {batch} RETURNING id
)
SELECT count(*), max(id) FROM copied
"""
# XOR, because both tables return their rows in another order.
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
_OPTIONS = "SELECT coalesce(array_to_string(reloptions, ', '), '') FROM pg_class WHERE oid = %s::regclass"
_SEQUENCES = "SELECT pg_get_serial_sequence(%s, 'id'), pg_get_serial_sequence(%s, 'id')"
_TO_PASSAGES = re.compile(rf"REFERENCES (?:public\.)?{PASSAGES}(?:_shared)?\(")

Tell = Callable[[str], None]


@dataclass
class _Definitions:
    """What belongs to a table besides its columns, by the names that it has where the table is plain."""

    primary: tuple[str, str]
    unique: list[tuple[str, str]]
    foreign: list[tuple[str, str]]
    indexes: list[tuple[str, bool, str]]
    triggers: list[str]
    options: str


@contextmanager
def _one_moment(cursor: CursorWrapper) -> Iterator[None]:
    """A transaction that sees the tables as they are at one moment, to its end."""
    with transaction.atomic(using=owner_alias()):
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


class Move:
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
        """Carry it out; return for how many seconds nobody else could reach the tables."""
        for table in TABLES:
            self._make(table)
            set_autovacuum(table, "SET (autovacuum_enabled = false)")
            try_patiently(_NOTE_CHANGES.format(table=table))
        for table in TABLES:
            self._copy(table)
            self._tell(f"{table}: making its indexes.")
            self._make_indexes(table)
        self._make_near_indexes()
        self._tell("Comparing the new tables with the old ones.")
        self._compare()
        self._tell("Putting the new tables in place of the old ones.")
        self._catch_up()
        try_patiently(self._swap)
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
        # Until PostgreSQL has looked, it takes the table for empty, and the first searches after the swap would be
        # slow.
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
            # A backup is under way. To `try_patiently` this is a lock like any other: it lets go of everything and
            # tries again.
            raise OperationalError from LockNotAvailable()
        self._do(f"LOCK TABLE {', '.join(REFERRED)} IN SHARE ROW EXCLUSIVE MODE")
        self._do(f"LOCK TABLE {', '.join(TABLES)} IN ACCESS EXCLUSIVE MODE")
        if self._all_definitions() != self._before:
            raise Conflict("The tables were changed meanwhile, as migrations do.", hint="Run the command again.")
        near = {name for (name,) in self._ask("SELECT relname FROM pg_class WHERE starts_with(relname, %s)", PREFIX)}
        for table in TABLES:
            self._copy_changes(table)
            # The new table was made with a sequence of its own, which begins at 1.
            ((old, new),) = self._ask(_SEQUENCES, table, f"{table}_new")
            self._do(f"SELECT setval('{new}', last_value, is_called) FROM {old}")
            self._do(f"ALTER SEQUENCE {old} RENAME TO {table}_id_seq_old")
            self._do(f"ALTER SEQUENCE {new} RENAME TO {table}_id_seq")
            self._do(f"ALTER TABLE {table} RENAME TO {table}_old")
            self._do(f"ALTER TABLE {table}_new RENAME TO {table}")
            # It would refuse the TRUNCATE below.
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

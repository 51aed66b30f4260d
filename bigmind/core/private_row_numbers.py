"""Numbers of private rows: what their owner calls them by, and what nobody can count the rows of others with.

Every user has a block of ids. The upper half of the id of a private row names the block, the lower half is the row's
number: `F12` is a fact of the one who asks. The database gives both out (a trigger on the table, a sequence for
each user and series), so that bulk inserts and concurrent transactions number alike, and no number is given twice.

Rows from before this have an id below the first block, which is their number too: a handle that an agent received then
still means the same. Decision 0032 has what was considered.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, LiteralString, overload

from django.db import transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import RunPython
from django.urls.converters import IntConverter, StringConverter
from psycopg import sql
from pydantic import AfterValidator, PlainSerializer

_BITS = 32
ROWS_IN_BLOCK = 1 << _BITS
"""How many ids a block has: the number of a row is the rest of its id."""


Series = Literal["memory", "records"]
"""Rows of one series share its numbers. What piles up by itself is apart from what agents name: `F212` stays short."""


@overload
def number_of(id: int) -> int: ...
@overload
def number_of(id: None) -> None: ...
def number_of(id: int | None) -> int | None:
    """Return what the owner of a row calls it by; that of a shared row is its id."""
    return None if id is None else id % ROWS_IN_BLOCK


def numbers_of(ids: Iterable[int]) -> list[int]:
    """Return the same of several ids."""
    return [id % ROWS_IN_BLOCK for id in ids]


def number_in(id: str) -> str:
    """Return the same of an id that is kept as text. A UUID stays as it is."""
    return str(int(id) % ROWS_IN_BLOCK) if id.isascii() and id.isdecimal() else id


def ids_in(block: int, number: int) -> tuple[int, ...]:
    """Return the ids that a row of this number can have: one from before there were blocks, and one in this block.

    An owner has at most one of the two. An id means itself.
    """
    return (number,) if number >= ROWS_IN_BLOCK else (number, block * ROWS_IN_BLOCK + number)


Number = Annotated[int, AfterValidator(number_of)]
"""In the shape of a reply: the id of a private row, shown as its number."""

NumberText = Annotated[str, AfterValidator(number_in)]
"""The same where the id is text, because it may be that of a shared row or a UUID."""

NumberWritten = Annotated[int, PlainSerializer(number_of, return_type=int)]
"""The same where the shape is read as well, and an id is only shown as its number when it is written."""


class NumberConverter(IntConverter):
    """A private row in the address of a page: `reverse` is given its id and writes its number."""

    def to_url(self, value: Any) -> str:
        """Return what stands in the address."""
        return str(number_of(int(value)))


class NumberTextConverter(StringConverter):
    """The same where the row may be one whose id is a UUID."""

    def to_url(self, value: Any) -> str:
        """Return what stands in the address."""
        return number_in(str(value))


class HasNumber:
    """What the rows of a private model have besides their id."""

    pk: int

    @property
    def number(self) -> int:
        """What its owner calls it by."""
        return number_of(self.pk)


class NumberRows(RunPython):
    """A migration: number the new rows of a table, which has a column `user_id`, with those of each user.

    The numbers of a user go on after the largest id that their rows have.
    """

    def __init__(self, table: str, series: Series) -> None:
        self.table, self.series = table, series
        super().__init__(self._begin, self._end)

    def _begin(self, apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        with editor.connection.cursor() as cursor:
            self._execute(cursor, "SELECT coalesce(max(id), 0) FROM {table}")
            (known,) = cursor.fetchone()
            # Most rows are looked at while others write, so that the lock is held for the last few only.
            self._execute(cursor, _GO_ON, [0])
            with transaction.atomic(using=editor.connection.alias):
                self._execute(cursor, "LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
                self._execute(cursor, _GO_ON, [known])
                self._execute(cursor, _NUMBER)

    def _end(self, apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        with editor.connection.cursor() as cursor:
            self._execute(cursor, "DROP TRIGGER {trigger} ON {table}")

    def _execute(self, cursor: Any, statement: LiteralString, values: Sequence[Any] | None = None) -> None:
        names = {"table": self.table, "trigger": f"{self.table}_numbered"}
        parts = {name: sql.Identifier(value) for name, value in names.items()}
        cursor.execute(sql.SQL(statement).format(**parts, series=sql.Literal(self.series)), values)


_NUMBER = """
CREATE OR REPLACE TRIGGER {trigger} BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION bigmind_number_row({series})
"""
_GO_ON = """
SELECT setval(name, greatest(largest, coalesce(pg_sequence_last_value(name::regclass), 1)))
FROM (
    SELECT 'bigmind_' || {series} || '_' || id_block AS name, max(one.id) AS largest
    FROM {table} AS one JOIN accounts_user AS owner ON owner.id = one.user_id
    WHERE one.id > %s AND one.id < 4294967296 GROUP BY id_block
) AS found
"""

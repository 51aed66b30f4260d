"""COPY: how many rows come in at once, ten times faster than by INSERT."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from django.db import connection
from django.db.models import CharField, Field, FloatField, IntegerField, Model, TextField, UUIDField
from django.db.models.fields import NOT_PROVIDED

COPY_SECONDS = 60
_AS_THEY_ARE = (CharField, TextField, FloatField, IntegerField, UUIDField)

Row = TypeVar("Row", bound=Model)


def copy_in(model: type[Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Store rows of values, as the driver takes them, in these columns. It knows no conflicts: one refuses all.

    Not for a table with row-level security, into which PostgreSQL refuses to copy.
    """
    _copy(_quote(model._meta.db_table), [_quote(column) for column in columns], rows)


def copy_new(rows: Sequence[Row], *, unique: str) -> list[Row]:
    """Store those new rows whose value in the field `unique` is not there yet, and return them.

    Someone may store the same value at the same moment: then one of the two is stored, and nobody fails.
    """
    if not rows:
        return []
    fields, table = _fields(rows[0]), _quote(rows[0]._meta.db_table)
    named, reads = [_quote(str(field.column)) for field in fields], [_reader(field) for field in fields]
    columns, column = ", ".join(named), _quote(str(rows[0]._meta.get_field(unique).name))
    with connection.cursor() as cursor:
        # By way of another table, because COPY cannot pass over what is there already.
        cursor.execute(f"CREATE TEMPORARY TABLE staged ON COMMIT DROP AS SELECT {columns} FROM {table} WITH NO DATA")
        _copy("staged", named, ([read(row) for read in reads] for row in rows))
        cursor.execute(
            # In order: two who store the same in another order would wait for each other.
            f"INSERT INTO {table} ({columns}) SELECT {columns} FROM staged ORDER BY {column}"
            f" ON CONFLICT ({column}) DO NOTHING RETURNING {column}"
        )
        stored = {value for (value,) in cursor.fetchall()}
        # Not left to the commit: a transaction may come here twice.
        cursor.execute("DROP TABLE staged")
    return [row for row in rows if getattr(row, unique) in stored]


def _copy(table: str, columns: Iterable[str], rows: Iterable[Sequence[Any]]) -> None:
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
    with connection.cursor() as cursor:
        # One statement for many rows: beside the making of vectors it takes longer than any of a page may.
        cursor.execute(f"SET LOCAL statement_timeout TO '{COPY_SECONDS}s'")
        with cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)


def _reader(field: "Field[Any, Any]") -> Callable[[Model], Any]:
    """What reads a field as the driver takes it. Most values it takes as they are, and asking Django takes as long."""
    if isinstance(field, _AS_THEY_ARE) or field.is_relation:
        return attrgetter(field.attname)
    return lambda row: field.get_db_prep_save(field.pre_save(row, add=True), connection)


def _fields(row: Model) -> list["Field[Any, Any]"]:
    """The columns that Python fills: what the database numbers, generates or knows by itself is left to it."""
    return [
        field
        for field in row._meta.concrete_fields
        if not (field.generated or _is_made_by_database(field) or (field.primary_key and row.pk is None))
    ]


def _is_made_by_database(field: "Field[Any, Any]") -> bool:
    # Where Python has a default of its own, the other is there for rows that an older version writes.
    return field.db_default is not NOT_PROVIDED and not field.has_default()


def _quote(name: str) -> str:
    return connection.ops.quote_name(name)

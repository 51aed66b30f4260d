"""Looking for a marker in every text of the database: a table that is new is looked into without being named here."""

from collections.abc import Iterator
from itertools import groupby

from django.db import connection

from bigmind.database.rls import rls_bypass

_COLUMNS = """
SELECT relation.relname, attribute.attname
FROM pg_attribute AS attribute
JOIN pg_class AS relation ON relation.oid = attribute.attrelid
JOIN pg_namespace AS space ON space.oid = relation.relnamespace
WHERE space.nspname = 'public' AND relation.relkind IN ('r', 'p') AND attribute.attnum > 0
  AND NOT attribute.attisdropped
ORDER BY 1, 2
"""


def columns() -> list[tuple[str, str]]:
    """Return every column of every table."""
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS)
        return [(str(table), str(column)) for table, column in cursor.fetchall()]


def places_of(marker: str) -> set[str]:
    """Return the columns, as `table.column`, in which a marker stands, whatever their type and the case of letters."""
    return set(_places(marker.lower()))


def _places(marker: str) -> Iterator[str]:
    with rls_bypass(), connection.cursor() as cursor:
        for table, of_table in groupby(columns(), key=lambda place: place[0]):
            names = [column for _, column in of_table]
            # As text, whatever it is: JSON, arrays and lexemes as well.
            found = ", ".join(f'bool_or(strpos(lower("{column}"::text), %s) > 0)' for column in names)
            cursor.execute(f'SELECT {found} FROM "{table}"', [marker] * len(names))
            yield from (f"{table}.{name}" for name, is_there in zip(names, cursor.fetchone(), strict=True) if is_there)

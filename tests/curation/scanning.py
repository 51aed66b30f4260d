"""Looking for a marker in every text of the database: a table that is new is looked into without being named here."""

from collections.abc import Iterator

from django.db import connection

from bigmind.core.rls import rls_bypass

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
        for table, column in columns():
            # As text, whatever it is: JSON, arrays and lexemes as well.
            cursor.execute(f'SELECT 1 FROM "{table}" WHERE strpos(lower("{column}"::text), %s) > 0 LIMIT 1', [marker])
            if cursor.fetchone():
                yield f"{table}.{column}"

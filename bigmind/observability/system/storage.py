"""What is stored, and in what: versions, sizes, backups. Sizes and names only."""

import platform
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connection

from bigmind import __version__
from bigmind.backup.making import backups_in, time_of_backup
from bigmind.embedded.home import free_bytes
from bigmind.environment import environment

TABLES_SHOWN = 8

_SERVER = """
SELECT current_setting('server_version'),
    (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    (SELECT string_agg(newest, ', ' ORDER BY newest) FROM (
        SELECT app || ' ' || max(name) AS newest FROM django_migrations
        WHERE app IN ('accounts', 'curation', 'knowledge') GROUP BY app
    ) AS migrations),
    pg_database_size(current_database()),
    (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)
"""
_TABLES = """
SELECT relname, pg_total_relation_size(oid), greatest(reltuples, 0)::bigint FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') ORDER BY 2 DESC LIMIT %s
"""


@dataclass(frozen=True)
class Versions:
    """What runs. `passes_the_wall`: the database takes us for a superuser, whom its policies do not hold."""

    bigmind: str
    python: str
    postgresql: str
    pgvector: str
    migrations: str
    database_bytes: int
    passes_the_wall: bool


@dataclass(frozen=True)
class TableSize:
    """One table: its size with all indexes, and about how many rows it has."""

    name: str
    bytes: int
    rows: int


@dataclass(frozen=True)
class BackupFigures:
    """The backups that the scheduler makes, as far as this machine sees them."""

    count: int
    newest: datetime | None = None
    bytes: int = 0


def versions() -> Versions:
    """Return what runs, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(_SERVER)
        row = cursor.fetchone()
    assert row is not None, "a SELECT without FROM has one row"
    postgresql, pgvector, migrations, size, passes = row
    return Versions(
        __version__, platform.python_version(), postgresql, pgvector or "", migrations or "", size, bool(passes)
    )


def largest_tables() -> list[TableSize]:
    """Return the largest tables, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES, [TABLES_SHOWN])
        return [TableSize(*row) for row in cursor.fetchall()]


def free_disk() -> int:
    """Return how many bytes are free where BIGMIND_HOME is."""
    return free_bytes(environment().home)


def backups() -> BackupFigures | None:
    """Return the backups there are; None where none are made by themselves."""
    if not settings.BACKUP_DIR:
        return None
    found = backups_in(Path(settings.BACKUP_DIR).expanduser())
    return BackupFigures(len(found), time_of_backup(found[0].folder), found[0].bytes) if found else BackupFigures(0)

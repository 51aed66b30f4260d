"""Workers: which are alive, and how long ago each took up work."""

from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Worker

ALIVE_SECONDS = 30.0
DEAF_SECONDS = 45.0
"""A worker that is well takes something every few seconds, if only its own ping."""

_NOTE = """
WITH gone AS (DELETE FROM accounts_worker WHERE seen_at < now() - interval '1 hour' AND name <> %(name)s)
INSERT INTO accounts_worker AS worker (name, seen_at, took_at, folder)
VALUES (%(name)s, now(), now() - coalesce(%(idle)s, 0) * interval '1 second', %(folder)s)
ON CONFLICT (name) DO UPDATE SET
    folder = excluded.folder, seen_at = now(),
    took_at = coalesce(now() - %(idle)s * interval '1 second', worker.took_at)
"""
_ALL = """
SELECT name, extract(epoch FROM now() - seen_at)::float8, extract(epoch FROM now() - took_at)::float8
FROM accounts_worker ORDER BY took_at
"""


def note_worker(name: str, idle: float | None) -> None:
    """Record that a worker is alive, where it makes backups, and that it last took something `idle` seconds ago.

    A process that takes over from one that took nothing has to take something first.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")  # A row that is written again in a moment may be lost.
        cursor.execute(_NOTE, {"name": name[:200], "idle": idle, "folder": settings.BACKUP_DIR[:300]})


def workers_alive() -> list[Worker]:
    return list(Worker.objects.filter(seen_at__gt=timezone.now() - timedelta(seconds=ALIVE_SECONDS)).order_by("name"))


def forget_worker(name: str) -> None:
    """Forget a worker that ended as it should."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_worker WHERE name = %s", [name[:200]])


def worker_error() -> str | None:
    """Say which worker takes nothing, or that none runs; None where none was ever seen."""
    with connection.cursor() as cursor:
        cursor.execute(_ALL)
        known = cursor.fetchall()
    if not known:
        return None
    deaf = [_idle_error(name, idle) for name, seen, idle in known if _is_deaf(seen, idle)]
    last = min(seen for _, seen, _ in known)
    if last > ALIVE_SECONDS:
        return f"none runs: the last was seen {last:,.0f} s ago, and work waits"
    return "; ".join(deaf)


def _idle_error(name: str, idle: float) -> str:
    return f"{name} has taken nothing for {idle:,.0f} s"


def _is_deaf(seen: float, idle: float) -> bool:
    return seen <= ALIVE_SECONDS and idle > DEAF_SECONDS

"""Workers: which are alive, and how long ago each took up work."""

from django.db import connection

ALIVE_SECONDS = 30.0
DEAF_SECONDS = 45.0
"""A worker that is well takes something every few seconds, if only its own ping."""

_NOTE = """
WITH gone AS (DELETE FROM accounts_worker WHERE seen_at < now() - interval '1 hour' AND name <> %(name)s)
INSERT INTO accounts_worker AS worker (name, seen_at, took_at)
VALUES (%(name)s, now(), now() - coalesce(%(idle)s, 0) * interval '1 second')
ON CONFLICT (name) DO UPDATE SET
    seen_at = now(), took_at = coalesce(now() - %(idle)s * interval '1 second', worker.took_at)
"""
_ALL = """
SELECT name, extract(epoch FROM now() - seen_at)::float8, extract(epoch FROM now() - took_at)::float8
FROM accounts_worker ORDER BY took_at
"""


def note_worker(name: str, idle: float | None) -> None:
    """Record that a worker is alive, and that it took something `idle` seconds ago, if it has yet.

    A process that takes over from one that took nothing has to take something first.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, {"name": name[:200], "idle": idle})


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
    deaf = [f"{name} has taken nothing for {idle:,.0f} s" for name, seen, idle in known if _is_deaf(seen, idle)]
    last = min(seen for _, seen, _ in known)
    if last > ALIVE_SECONDS:
        return f"none runs: the last was seen {last:,.0f} s ago, and work waits"
    return "; ".join(deaf)


def _is_deaf(seen: float, idle: float) -> bool:
    return seen <= ALIVE_SECONDS and idle > DEAF_SECONDS

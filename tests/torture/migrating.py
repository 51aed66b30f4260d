"""Migrations of a BigMind that is running, and who waits for them."""

import subprocess
import sys
from threading import Event, Thread

import psycopg

from bigmind.embedded.cluster import Cluster
from tests.embedded.instance import ROOT, Instance, environment

MIGRATED_WITHIN = 600.0
_LONGEST_WAIT = """
    SELECT extract(epoch FROM clock_timestamp() - waitstart)::float8, left(waiting.query, 80), left(holding.query, 120)
    FROM pg_locks
    JOIN pg_stat_activity waiting USING (pid)
    LEFT JOIN pg_stat_activity holding ON holding.pid = (pg_blocking_pids(pg_locks.pid))[1]
    WHERE NOT granted AND locktype = 'relation' AND waitstart IS NOT NULL
    ORDER BY 1 DESC LIMIT 1
"""


class Locks:
    """Looks all the while how long anybody waits for a lock on a table."""

    def __init__(self, instance: Instance) -> None:
        self.longest = 0.0
        self.told = "nobody waited"
        self._url = Cluster(instance.home).url
        self._over = Event()
        self._thread = Thread(target=self._look)

    def __enter__(self) -> "Locks":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as database:
            while not self._over.wait(0.02):
                row = database.execute(_LONGEST_WAIT).fetchone()
                if row and row[0] > self.longest:
                    self.longest, self.told = row[0], f"{row[1]} for {row[2]}"


def begun(instance: Instance, *arguments: str, settings: str = "") -> "subprocess.Popen[str]":
    """Begin `manage.py migrate`, of this version or of the next one."""
    variables = {"DJANGO_SETTINGS_MODULE": settings} if settings else {}
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", *arguments],
        cwd=ROOT,
        env=environment(instance.home, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def migrated(instance: Instance, *arguments: str, settings: str = "") -> tuple[int, str]:
    """Migrate; return the exit code and what was printed."""
    with begun(instance, *arguments, settings=settings) as process:
        try:
            printed, _ = process.communicate(timeout=MIGRATED_WITHIN)
        finally:
            process.kill()
    return process.returncode, printed


def migrate(instance: Instance, *arguments: str, settings: str = "") -> None:
    """Migrate, and see that it was done."""
    code, printed = migrated(instance, *arguments, settings=settings)
    assert code == 0, printed

"""Alive and ready: what load balancers and supervisors ask."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import psycopg
import structlog
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, HttpResponse, JsonResponse
from kombu.exceptions import OperationalError as BrokerError

from bigmind.celery import app as celery
from bigmind.environment import environment
from knowledge.services.embedding import embedder_error

PATIENCE_SECONDS = 2
# What PostgreSQL takes for one segment of its journal.
FULL_BYTES = 16 * 1024 * 1024
TRIAL_BYTES = 4096
FULL = "is full: writes are refused until some space is freed"

log = structlog.get_logger()


@dataclass(frozen=True)
class HealthCheck:
    """One thing BigMind stands on, and what is the matter with it (nothing, when it is well)."""

    name: str
    error: str
    stops: bool = True
    """Whether BigMind cannot be served while something is the matter with it."""

    @property
    def ok(self) -> bool:
        """Whether nothing is the matter."""
        return not self.error


def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that this process is alive. Nothing else is asked: a database that is away is no reason to restart us."""
    return HttpResponse("ok\n", "text/plain; charset=utf-8")


def parts() -> list[HealthCheck]:
    """Ask everything BigMind stands on how it does."""
    found = _database()
    return [*found, disk(), embedder(is_known=found[0].ok), _broker()]


def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when requests can be served, else 503; either way say how each part does.

    A broker or an embedder that is away does not make BigMind unready: reads, writes and search go on, and the work
    waits in the database.
    """
    found = parts()
    ready = all(part.ok for part in found if part.stops)
    checks = {part.name: {"ok": part.ok, **({"trouble": part.error} if part.error else {})} for part in found}
    response = JsonResponse({"ready": ready, "checks": checks}, status=200 if ready else 503)
    response["Cache-Control"] = "no-store"
    return response


@contextmanager
def database_aside() -> Iterator[psycopg.Connection[Any]]:
    """Open a connection of its own: the threads' connections may be waiting for a database that is gone."""
    parameters = {**connection.get_connection_params(), "connect_timeout": PATIENCE_SECONDS}
    with psycopg.connect(**parameters) as database:
        yield database


def _database() -> list[HealthCheck]:
    try:
        with database_aside() as database:
            vector = database.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone()
            return [HealthCheck("database", ""), _vector(bool(vector)), _migrations(database)]
    except (psycopg.Error, DatabaseError) as error:
        log.warning("The database is not ready.", error=str(error))
        unknown = "unknown while the database is away"
        return [
            HealthCheck("database", "does not answer"),
            HealthCheck("vector", unknown),
            HealthCheck("migrations", unknown),
        ]


def _vector(is_there: bool) -> HealthCheck:
    return HealthCheck("vector", "" if is_there else "the extension “vector” (pgvector) is missing in this database")


def _migrations(database: psycopg.Connection) -> HealthCheck:
    (has_table,) = database.execute("SELECT to_regclass('django_migrations') IS NOT NULL").fetchone() or (False,)
    applied = set(database.execute("SELECT app, name FROM django_migrations")) if has_table else set()
    missing = _migrations_we_bring() - applied
    return HealthCheck("migrations", f"{len(missing)} to apply: run `bigmind migrate`" if missing else "")


@cache
def _migrations_we_bring() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def _broker() -> HealthCheck:
    try:
        with celery.connection_for_write(connect_timeout=PATIENCE_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE_SECONDS)
    except (BrokerError, OSError) as error:
        log.warning("The broker does not answer.", error=str(error))
        return HealthCheck("broker", "does not answer; work waits in the database", stops=False)
    return HealthCheck("broker", "", stops=False)


def disk() -> HealthCheck:
    """Say whether the disk of everything BigMind keeps takes writes."""
    return HealthCheck("disk", disk_error(environment().home), stops=not environment().read_only)


def disk_error(folder: Path) -> str:
    """Return why this folder cannot be written to, or an empty text. It names no path, because anyone may read it."""
    try:
        with TemporaryFile(dir=folder) as trial:
            trial.write(bytes(TRIAL_BYTES))
        free = shutil.disk_usage(folder).free
    except OSError as error:
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        return FULL if is_full else f"takes no writes ({error.strerror})"
    return FULL if free < FULL_BYTES else ""


def embedder(*, is_known: bool) -> HealthCheck:
    """Say how the embedder does, as far as the database can be asked."""
    unknown = HealthCheck("embedder", "unknown while the database is away", stops=False)
    try:
        return HealthCheck("embedder", embedder_error(), stops=False) if is_known else unknown
    except DatabaseError:
        return unknown

"""Liveness and readiness, for load balancers and supervisors."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic, sleep, time
from typing import Any

import psycopg
import structlog
from django.conf import settings
from django.core.cache import DEFAULT_CACHE_ALIAS, caches
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError as BrokerError

from accounts.services.workers import worker_error
from bigmind.celery import app as celery
from bigmind.core.full_disk import is_disk_full
from bigmind.database.migration_files import list_migrations
from bigmind.database.postgresql.base import REPLICA
from bigmind.database.replicas import BEHIND_SECONDS, REPLAYED, WRITTEN, has_replica
from bigmind.environment import environment
from bigmind.observability.waiting_work import longest_wait
from knowledge.indexing.embedding import embedder_error
from knowledge.indexing.index_gaps import index_error
from knowledge.search.indexes import indexes_error
from knowledge.search.reranker import reranker_error

PATIENCE_SECONDS = 2
# What PostgreSQL takes for one segment of its journal.
FULL_BYTES = 16 * 1024 * 1024
"""With less left than this nothing is ready. A start asks for more (`bigmind/embedded/home.py:LEAST_FREE_BYTES`)."""

TRIAL_BYTES = 4096
LONGEST_WAIT_SECONDS = 60
CLOCK_TOLERANCE_SECONDS = 5
SET_BACK_SECONDS = 60
_NEWEST = """
SELECT extract(epoch FROM greatest(
    (SELECT max(at) FROM accounts_call), (SELECT max(at) FROM accounts_auditevent)))::float8
"""
_REPLAYED_AGO = "SELECT coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp()), 0)::float8"
PRIMARY_ANSWERS = "the primary answers all reads"
FULL = "is full: writes are refused until some space is freed"
READ_ALONE = "are refused by the database, which is a replica or set to read only; reading and searching go on"
AWAY = "does not answer; work waits in the database"
FULL_BROKER = "takes no more connections; work waits in the database, and calls are not counted against their limits"
UNCOUNTED = "does not answer each call; these are not counted against their limits"
UNKNOWN = "unknown while the database is away"

log = structlog.get_logger()


@dataclass(frozen=True)
class HealthCheck:
    """One dependency of BigMind, and what is wrong with it; nothing where all is well."""

    name: str
    error: str
    stops: bool = True
    """Whether BigMind cannot serve requests while this fails."""
    note: str = ""
    """What to know where nothing is wrong."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.error


def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that this process is alive. Nothing else is checked: restarting it would not bring a database back."""
    return HttpResponse("ok\n", "text/plain; charset=utf-8")


def parts() -> list[HealthCheck]:
    """Check every dependency."""
    found = _database()
    is_known = found[0].ok
    of_the_database = [look(is_known=is_known) for look in (embedder, index, indexes, scrubs, backups, guards, worker)]
    return [*found, *replica(), disk(), *of_the_database, *reranker(), broker()]


def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if requests can be served, else 503, with the state of each dependency.

    A broker or an embedder that is away does not make BigMind unready: reads, writes and search go on, and the work
    waits in the database.
    """
    found = parts()
    ready = all(part.ok for part in found if part.stops)
    words = {"trouble": "error", "note": "note"}
    checks = {
        part.name: {"ok": part.ok, **{key: text for key, field in words.items() if (text := getattr(part, field))}}
        for part in found
    }
    response = JsonResponse({"ready": ready, "checks": checks}, status=200 if ready else 503)
    response["Cache-Control"] = "no-store"
    return response


@contextmanager
def database_aside(alias: str = DEFAULT_DB_ALIAS) -> Iterator[psycopg.Connection[Any]]:
    """Open a separate connection: those of the threads may be waiting for a database that is gone."""
    parameters = {**connections[alias].get_connection_params(), "connect_timeout": PATIENCE_SECONDS}
    with psycopg.connect(**parameters) as database:
        yield database


def _database() -> list[HealthCheck]:
    try:
        with database_aside() as database:
            vector = database.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone()
            migrations = _migrations(database)
            findings = [_vector(bool(vector)), migrations, writes(database), clock(database)]
            return [HealthCheck("database", ""), *findings]
    except (psycopg.Error, DatabaseError) as error:
        log.warning("The database is not ready.", error=error)
        return [
            HealthCheck("database", "does not answer"),
            HealthCheck("vector", UNKNOWN),
            HealthCheck("migrations", UNKNOWN),
            HealthCheck("writes", UNKNOWN, stops=False),
            HealthCheck("clock", UNKNOWN, stops=False),
        ]


def _vector(is_there: bool) -> HealthCheck:
    return HealthCheck("vector", "" if is_there else "the extension “vector” (pgvector) is missing in this database")


def _migrations(database: psycopg.Connection) -> HealthCheck:
    (has_table,) = database.execute("SELECT to_regclass('django_migrations') IS NOT NULL").fetchone() or (False,)
    applied = set(database.execute("SELECT app, name FROM django_migrations")) if has_table else set()
    missing = list_migrations() - applied
    return HealthCheck("migrations", f"{len(missing)} to apply: run `bigmind migrate`" if missing else "")


def writes(database: psycopg.Connection[Any]) -> HealthCheck:
    """Check that the database accepts writes, unless BigMind is set to be read-only."""
    row = database.execute("SELECT current_setting('transaction_read_only') = 'on'").fetchone()
    is_refusing = bool(row and row[0]) and not environment().read_only
    return HealthCheck("writes", READ_ALONE if is_refusing else "", stops=False)


def clock(database: psycopg.Connection[Any]) -> HealthCheck:
    """Compare the clock with that of the database and with the last time recorded: it may have been set back."""
    (theirs,) = database.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone() or (time(),)
    if abs(theirs - time()) > CLOCK_TOLERANCE_SECONDS:
        apart = f"{abs(theirs - time()):,.0f} s away from the database's: let both take their time from the network"
        return HealthCheck("clock", apart, stops=False)
    (has_records,) = database.execute("SELECT to_regclass('accounts_auditevent') IS NOT NULL").fetchone() or (False,)
    (newest,) = (database.execute(_NEWEST).fetchone() if has_records else None) or (None,)
    if newest and newest - time() > SET_BACK_SECONDS:
        behind = f"{newest - time():,.0f} s behind what was recorded already: it was set back, or ran ahead"
        return HealthCheck("clock", behind, stops=False)
    return HealthCheck("clock", "", stops=False)


def replica() -> list[HealthCheck]:
    """Check that the replica, if one is set, can answer reads. While it cannot, the primary does."""
    return [HealthCheck(REPLICA, _replica_error(), stops=False)] if has_replica() else []


def _replica_error() -> str:
    try:
        with database_aside() as database:
            (place,) = database.execute(WRITTEN).fetchone() or (0,)
    except psycopg.Error:
        return UNKNOWN
    try:
        with database_aside(REPLICA) as database:
            return _delay(database, place)
    except psycopg.Error as error:
        log.warning("The replica does not answer.", outage=REPLICA, error=error)
        return f"does not answer: {PRIMARY_ANSWERS}"


def _delay(database: psycopg.Connection[Any], place: int) -> str:
    """Say how far the replica lags, unless it reaches the position of the primary within a moment."""
    database.autocommit = True
    give_up = monotonic() + PATIENCE_SECONDS
    while (row := database.execute(REPLAYED).fetchone()) and row[0] is not None and row[0] < place:
        (seconds,) = database.execute(_REPLAYED_AGO).fetchone() or (0.0,)
        if seconds <= BEHIND_SECONDS:
            return ""
        if monotonic() > give_up:
            return f"is {seconds:,.0f} s behind: {PRIMARY_ANSWERS}"
        sleep(0.05)
    return "" if row else f"is no replica: {PRIMARY_ANSWERS}"


def broker() -> HealthCheck:
    """Check that the broker, which wakes the worker and counts calls, answers, and takes connections."""
    try:
        with celery.connection_for_write(connect_timeout=PATIENCE_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE_SECONDS)
    except (BrokerError, OSError) as error:
        log.warning("The broker does not answer.", error=error)
        return HealthCheck("broker", FULL_BROKER if "max number of clients" in str(error) else AWAY, stops=False)
    # A connection that was made just now says nothing of those that calls need.
    is_left_alone = getattr(caches[DEFAULT_CACHE_ALIAS], "is_left_alone", False)
    return HealthCheck("broker", UNCOUNTED if is_left_alone else "", stops=False)


def disk() -> HealthCheck:
    """Check that the disk with the data of BigMind accepts writes."""
    return HealthCheck("disk", disk_error(environment().home), stops=not environment().read_only)


def disk_error(folder: Path) -> str:
    """Return why this folder cannot be written to, or an empty text. It names no path, because anyone may read it."""
    try:
        # A quota, or a disk that can only be read, shows when something is written.
        with TemporaryFile(dir=folder) as trial:
            trial.write(bytes(TRIAL_BYTES))
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return FULL if is_disk_full(error) else f"takes no writes ({error.strerror})"
    return FULL if free < FULL_BYTES else ""


def is_full_disk_behind(error: BaseException) -> bool:
    """Whether a full disk is why the database refused or went away: its own disk, or ours where it is embedded."""
    return is_disk_full(error) or (environment().is_embedded and disk_error(environment().home) == FULL)


def embedder(*, is_known: bool) -> HealthCheck:
    """Report the state of the embedder, as recorded in the database."""
    return _ask("embedder", embedder_error, is_known=is_known)


def reranker() -> list[HealthCheck]:
    """Report whether the reranker answers, where one is named."""
    return [HealthCheck("reranker", reranker_error(), stops=False)] if settings.RERANK_URL else []


def index(*, is_known: bool) -> HealthCheck:
    """Report whether the last check found everything in the index."""
    return _ask("index", index_error, is_known=is_known)


def indexes(*, is_known: bool) -> HealthCheck:
    """Report whether the last run of a worker kept the indexes over vectors."""
    return _ask("indexes", indexes_error, is_known=is_known)


def scrubs(*, is_known: bool) -> HealthCheck:
    """Check that no removed text is back: a restore by other means than ours would bring it."""
    # By its path: services of knowledge ask for health, and what curation keeps stands above them.
    return _ask("scrubs", import_string("bigmind.privacy.scrub.notes.scrubs_error"), is_known=is_known, stops=True)


def backups(*, is_known: bool) -> HealthCheck:
    """Check that backups are made as configured, and on time."""
    report, error, note = import_string("bigmind.backup.runs.report_backups"), UNKNOWN, ""
    with suppress(DatabaseError):
        error, note = report() if is_known else (UNKNOWN, "")
    return HealthCheck("backups", error, stops=False, note=note)


def guards(*, is_known: bool) -> HealthCheck:
    """Report the shared guards that hooks did not receive."""
    return _ask("guards", import_string("knowledge.capture.triggers.guards_error"), is_known=is_known)


def worker(*, is_known: bool) -> HealthCheck:
    """Check that each worker takes what waits; one that works long takes other work meanwhile."""
    return _ask("worker", _worker_error, is_known=is_known)


def _worker_error() -> str:
    if environment().read_only:
        return ""
    error = worker_error()
    # A part that only serves may never have met one; then what waits for one says so.
    if error is None and (waited := longest_wait()) > LONGEST_WAIT_SECONDS:
        return f"none runs, and work has waited for {waited:,.0f} s"
    return error or ""


def _ask(name: str, ask: Callable[[], str], *, is_known: bool, stops: bool = False) -> HealthCheck:
    try:
        return HealthCheck(name, ask(), stops=stops) if is_known else HealthCheck(name, UNKNOWN, stops=False)
    except DatabaseError:
        return HealthCheck(name, UNKNOWN, stops=False)

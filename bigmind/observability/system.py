"""The system page: storage, scheduled tasks, and settings that are probably mistakes."""

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import BackupRun, TaskTally
from accounts.services.settings_in_force import list_lost_choices
from accounts.services.usage import FailedCalls, LimitHits, Use, calls_since, failures, limit_hits, use_by_operation
from bigmind import __version__
from bigmind.backup.runs import BackupState
from bigmind.core.translation import _
from bigmind.embedded.home import free_bytes
from bigmind.environment import environment, unknown_variables
from bigmind.network.addresses import LOOPBACK
from bigmind.observability import health
from bigmind.retention import say_bound_of_table
from knowledge.indexing.embedding_status import PipelineSummary, pipeline_summary

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
SELECT coalesce(pg_partition_root(oid), oid)::regclass::text, sum(pg_total_relation_size(oid))::bigint,
    sum(greatest(reltuples, 0))::bigint
FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' GROUP BY 1 ORDER BY 2 DESC LIMIT %s
"""

GRACE = timedelta(minutes=2)


LOOKED_BACK = timedelta(hours=24)
OPERATIONS_SHOWN = 15


@dataclass(frozen=True)
class Versions:
    """The versions that run. `passes_the_wall`: our role is a superuser, whom no policy of the database holds."""

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

    @property
    def bound(self) -> str:
        """What keeps it from growing for ever, in words."""
        return say_bound_of_table(self.name)


def versions() -> Versions:
    """Return the versions that run, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(_SERVER)
        row = cursor.fetchone()
    assert row is not None, "a SELECT without FROM has one row"
    postgresql, pgvector, migrations, size, passes = row
    return Versions(
        __version__, platform.python_version(), postgresql, pgvector or "", migrations or "", size, bool(passes)
    )


def largest_tables() -> list[TableSize]:
    with connection.cursor() as cursor:
        cursor.execute(_TABLES, [TABLES_SHOWN])
        return [TableSize(*row) for row in cursor.fetchall()]


def free_disk() -> int:
    """Return how many bytes are free where BIGMIND_HOME is."""
    return free_bytes(environment().home)


@dataclass(frozen=True)
class Task:
    """A background task. `every` is None where only writes start it."""

    name: str
    every: timedelta | None
    tally: TaskTally | None

    @property
    def due(self) -> datetime | None:
        """When the scheduler starts it next, if its last start is known."""
        last = self.tally.scheduled_at if self.tally else None
        return last + self.every if last and self.every else None

    @property
    def is_late(self) -> bool:
        """Whether it is overdue: the scheduler sends nothing, or no worker takes it."""
        return self.due is not None and timezone.now() > self.due + GRACE

    @property
    def failed_last(self) -> bool:
        """Whether its last run failed."""
        return self.tally is not None and self.tally.failed_at == self.tally.ended_at


def tasks() -> list[Task]:
    """Return all tasks with their statistics, in one query: the next to run first."""
    tallies = {tally.task: tally for tally in TaskTally.objects.all()}
    entries: Any = settings.CELERY_BEAT_SCHEDULE.values()
    schedule: dict[str, timedelta] = {entry["task"]: timedelta(seconds=entry["schedule"]) for entry in entries}
    names = sorted({*schedule, *tallies}, key=lambda name: (schedule.get(name, timedelta.max), name))
    return [Task(name, schedule.get(name), tallies.get(name)) for name in names]


def last_beat(found: list[Task]) -> datetime | None:
    """Return when a worker last ran a scheduled task."""
    beats = [task.tally.scheduled_at for task in found if task.tally and task.tally.scheduled_at]
    return max(beats, default=None)


def unusual_settings(backups: BackupState, *, passes_the_wall: bool) -> list[str]:
    """Return warnings about settings that are probably a mistake.

    Args:
        backups: How each worker is set to make backups.
        passes_the_wall: BigMind connects as a role that bypasses the row-level policies of the database.
    """
    found = [sentence for is_so, sentence in _checks(backups, passes_the_wall) if is_so]
    found += [
        _("%(line)s was chosen on the page Settings, which counts no longer: set it in the environment.")
        % {"line": line}
        for line in list_lost_choices()
    ]
    return found + [
        (_("%(name)s means nothing to BigMind") % {"name": name})
        + (_("; did you mean %(nearest)s?") % {"nearest": nearest} if nearest else ".")
        for name, nearest in unknown_variables().items()
    ]


def _checks(backups: BackupState, passes_the_wall: bool) -> Iterator[tuple[bool, str]]:
    is_for_many = settings.BIGMIND_MODE != "personal"
    address = urlsplit(settings.PUBLIC_URL)
    yield settings.DEBUG, _("BIGMIND_DEBUG is on: errors show code and variables to anyone who runs into one.")
    yield (
        address.scheme != "https" and address.hostname not in LOOPBACK,
        _("BIGMIND_PUBLIC_URL has no https: keys and passwords can be read on the way."),
    )
    yield passes_the_wall, _("BigMind connects to the database as a superuser: row-level security does not apply.")
    yield is_for_many and not settings.EMAIL_HOST, _("BIGMIND_EMAIL_URL is not set: nobody is notified by e-mail.")
    yield not backups.is_wanted, _("BIGMIND_BACKUP_DIR is not set: only “bigmind backup” makes backups.")
    yield not settings.RATE_LIMIT_PER_MINUTE, _("BIGMIND_RATE_LIMIT is 0: a key may call as often as it can.")
    yield (
        is_for_many and settings.REQUIRE_MFA == "nobody" and not settings.OIDC_ISSUER,
        _("Two-factor authentication is optional, even for admins (BIGMIND_REQUIRE_MFA)."),
    )
    yield settings.WEBHOOK_PRIVATE, _("BIGMIND_WEBHOOK_PRIVATE is on: the webhook may call into the private network.")
    yield (
        environment().log_level == "DEBUG",
        _("BIGMIND_LOG_LEVEL is DEBUG: logs grow fast and libraries are talkative."),
    )
    yield (
        settings.EMBEDDING_PROVIDER == "hashing",
        _("BIGMIND_EMBEDDING_PROVIDER is “hashing”, which is for tests: search by meaning finds little."),
    )


@dataclass(frozen=True)
class SystemState:
    """The contents of the page."""

    parts: list[health.HealthCheck]
    versions: Versions
    pipeline: PipelineSummary
    tasks: list[Task]
    last_beat: datetime | None
    slowest: list[Use]
    failures: list[FailedCalls]
    limit_hits: list[LimitHits]
    tables: list[TableSize]
    free_disk: int
    backups: BackupState
    newest_backup: BackupRun | None
    unusual: list[str]


def system_state(actor: Actor) -> SystemState:
    """Return all of it. For admins."""
    actor.require("admin")
    calls, found, in_use = calls_since(timezone.now() - LOOKED_BACK), tasks(), versions()
    backups = BackupState.load()
    by_slowness = sorted(use_by_operation(calls), key=lambda use: -use.most_within)
    return SystemState(
        parts=health.parts(),
        versions=in_use,
        pipeline=pipeline_summary(),
        tasks=found,
        last_beat=last_beat(found),
        slowest=by_slowness[:OPERATIONS_SHOWN],
        failures=failures(calls),
        limit_hits=limit_hits(calls),
        tables=largest_tables(),
        free_disk=free_disk(),
        backups=backups,
        newest_backup=backups.last(is_done=True),
        unusual=unusual_settings(backups, passes_the_wall=in_use.passes_the_wall),
    )

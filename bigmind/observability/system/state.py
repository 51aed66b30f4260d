"""How this BigMind is: everything the system page shows, in a constant number of queries."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from accounts.actor import Actor
from accounts.services.usage import FailedCalls, LimitHits, Use, calls_since, limit_hits, troubles, use_by_operation
from bigmind.observability import health
from bigmind.observability.system import storage
from bigmind.observability.system.configuration_warnings import unusual_settings
from bigmind.observability.system.scheduler import Task, last_beat, tasks
from knowledge.services.embedding_status import PipelineSummary, pipeline_summary

LOOKED_BACK = timedelta(hours=24)
OPERATIONS_SHOWN = 15


@dataclass(frozen=True)
class SystemState:
    """What there is to see."""

    parts: list[health.HealthCheck]
    versions: storage.Versions
    pipeline: PipelineSummary
    tasks: list[Task]
    last_beat: datetime | None
    slowest: list[Use]
    troubles: list[FailedCalls]
    limit_hits: list[LimitHits]
    tables: list[storage.TableSize]
    free_disk: int
    backups: storage.BackupFigures | None
    unusual: list[str]


def system_state(actor: Actor) -> SystemState:
    """Look at everything. For admins."""
    actor.require("admin")
    calls, found, versions = calls_since(timezone.now() - LOOKED_BACK), tasks(), storage.versions()
    by_slowness = sorted(use_by_operation(calls), key=lambda use: -use.most_within)
    return SystemState(
        parts=health.parts(),
        versions=versions,
        pipeline=pipeline_summary(),
        tasks=found,
        last_beat=last_beat(found),
        slowest=by_slowness[:OPERATIONS_SHOWN],
        troubles=troubles(calls),
        limit_hits=limit_hits(calls),
        tables=storage.largest_tables(),
        free_disk=storage.free_disk(),
        backups=storage.backups(),
        unusual=unusual_settings(passes_the_wall=versions.passes_the_wall),
    )

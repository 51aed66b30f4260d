"""Results of making, copying and rehearsing backups: one row each, for health checks, metrics and pages."""

import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone

from accounts.models import BackupRun
from bigmind.core.live_settings import live
from bigmind.core.read_only import is_read_only

from .making import Backup

KEPT = 30
"""Rows kept of each kind; nothing reads more."""
ERROR_CHARS = 300
LATE = 2
"""After this many intervals without a backup, something is wrong."""


def note_run(
    kind: BackupRun.Step,
    backup: Backup | None = None,
    *,
    place: str,
    began: float,
    name: str = "",
    error: Exception | None = None,
    report: dict[str, Any] | None = None,
    at: datetime | None = None,
) -> None:
    """Record a result, and delete old ones. If the database takes no writes, only the record is lost.

    Args:
        began: When it began, by `time.monotonic`.
        name: The backup's name, if only that is known.
        at: When it ended, if not now.
    """
    # A database of an older version has no such table, and a rehearsal elsewhere may have no database at all.
    with suppress(DatabaseError), transaction.atomic():
        if is_read_only():
            return
        BackupRun.objects.create(
            kind=kind,
            at=at or timezone.now(),
            name=backup.name if backup else name,
            place=place[:300],
            seconds=time.monotonic() - began,
            bytes=backup.bytes if backup else 0,
            is_encrypted=bool(backup and backup.manifest.is_encrypted),
            error=str(error or "")[:ERROR_CHARS],
            report=report or {},
        )
        of_kind = BackupRun.objects.filter(kind=kind)
        kept = of_kind.order_by("-at", "-pk").values("pk")[:KEPT]
        of_kind.exclude(pk__in=kept).delete()


def recent_runs() -> list[BackupRun]:
    """Return the recorded runs, the newest first, in one query."""
    return list(BackupRun.objects.order_by("-at", "-pk"))


def last_run(runs: list[BackupRun], kind: BackupRun.Step, *, is_done: bool = False) -> BackupRun | None:
    """Return the last run of a kind; with `is_done`, the last one that succeeded."""
    return next((run for run in runs if run.kind == kind and not (is_done and run.error)), None)


def backups_error() -> str:
    """Say what is wrong with the scheduled backups; empty when all is well. It names no place, because anyone may read
    it.
    """
    return error_of(recent_runs()) if settings.BACKUP_DIR else ""


def error_of(runs: list[BackupRun]) -> str:
    """Say what is wrong, judging by these runs."""
    kinds, folder = BackupRun.Step, str(Path(settings.BACKUP_DIR).expanduser())
    # Backups that someone makes elsewhere by hand say nothing about the scheduled ones.
    ours = [run for run in runs if run.place in {folder, settings.BACKUP_BUCKET}]
    tried, made, copied = last_run(ours, kinds.MADE), last_run(ours, kinds.MADE, is_done=True), _last_copy(ours)
    rehearsed = last_run(runs, kinds.REHEARSED)
    if made and timezone.now() - made.at > LATE * timedelta(hours=live.BACKUP_EVERY_HOURS):
        return f"the newest is of {made.at:%Y-%m-%d %H:%M} UTC, and one is due every {live.BACKUP_EVERY_HOURS} hours"
    if tried and tried.error:
        return "the last one failed"
    if settings.BACKUP_RECIPIENTS and made and not made.is_encrypted:
        return "the newest is not encrypted, although a recipient is set"
    if settings.BACKUP_BUCKET and made and copied != made.name:
        return "the newest is not in the bucket"
    if rehearsed and rehearsed.error:
        return "the last rehearsal of a restore failed"
    return ""


def _last_copy(runs: list[BackupRun]) -> str:
    last = last_run(runs, BackupRun.Step.COPIED, is_done=True)
    return last.name if last else ""

"""What came of making, copying and rehearsing backups, one row each; and whether all is well, for health and pages."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone

from accounts.models import BackupRun, User, Worker
from accounts.services.workers import workers_alive
from bigmind.core.errors import BigMindError, Conflict, Invalid
from bigmind.database.read_only import is_read_only
from bigmind.environment import environment
from bigmind.environment.live_settings import live

from .making import Backup

KEPT = 30
"""Rows kept of each kind, of those that went well and of those that failed; nothing reads more."""
ERROR_CHARS = 300
LATE = 2
"""After this many intervals without a backup, something is wrong."""
FIRST = timedelta(days=1)
"""After this long without any, too: the first one is due at once."""


def note_run(
    kind: BackupRun.Step,
    backup: Backup | None = None,
    *,
    place: str,
    began: float,
    name: str = "",
    error: Exception | None = None,
    report: dict[str, Any] | None = None,
) -> None:
    """Record a result, and delete old ones. If the database takes no writes, only the record is lost.

    Args:
        began: When it began, by `time.monotonic`.
        name: The backup's name, if only that is known.
    """
    # A database of an older version has no such table, and a rehearsal elsewhere may have no database at all.
    with suppress(DatabaseError), transaction.atomic():
        if is_read_only():
            return
        BackupRun.objects.create(
            kind=kind,
            name=backup.name if backup else name,
            place=place[:300],
            seconds=time.monotonic() - began,
            bytes=backup.bytes if backup else 0,
            is_encrypted=bool(backup and backup.manifest.is_encrypted),
            error=str(error or "")[:ERROR_CHARS],
            report=report or {},
        )
        # What fails is tried again every ten minutes, and must not push out when it last went well.
        of_kind = BackupRun.objects.filter(kind=kind)
        of_kind = of_kind.exclude(error="") if error else of_kind.filter(error="")
        kept = of_kind.order_by("-at", "-pk").values("pk")[:KEPT]
        of_kind.exclude(pk__in=kept).delete()


@contextmanager
def recording(kind: BackupRun.Step, *, place: str, name: str = "") -> Iterator[Callable[..., None]]:
    """Record what fails inside the block, whatever it is. Yields what records that it went well.

    Raises:
        Invalid: something else than a refusal went wrong; it says what, and the next step.
    """
    record = partial(note_run, kind, place=place, began=time.monotonic())
    try:
        yield record
    except Conflict:
        raise  # Another process is at it, and records what comes of it.
    except BigMindError as error:
        record(name=name, error=error)
        raise
    except Exception as error:
        refusal = _explain(error)
        record(name=name, error=refusal)
        raise refusal from error


def _explain(error: Exception) -> Invalid:
    words = " ".join(str(error).split())[:200]
    if isinstance(error, (psycopg.Error, DatabaseError)):
        return Invalid(
            f"The database: {words}",
            hint="See `bigmind doctor`. Past a pool leads BIGMIND_DATABASE_OWNER_URL, which each worker needs then.",
        )
    if isinstance(error, OSError):
        return Invalid(f"{error.filename or 'The disk'}: {error.strerror or words}.", hint="See to the disk.")
    return Invalid(f"{type(error).__name__}: {words}", hint="The log of the worker says more.")


@dataclass(frozen=True)
class BackupState:
    """How backups do: what was done, and the workers that run, with how each is set."""

    runs: list[BackupRun]
    workers: list[Worker]

    @classmethod
    def load(cls) -> "BackupState":
        """Return it as recorded: the newest runs first, in two queries."""
        return cls(list(BackupRun.objects.order_by("-at", "-pk")), workers_alive())

    @property
    def is_wanted(self) -> bool:
        """Whether backups are made by themselves, or the settings of this process say that they should be."""
        return bool(settings.BACKUP_DIR) or any(worker.folder for worker in self.workers)

    @property
    def places(self) -> list[str]:
        """Where they go: folders, then buckets."""
        folders, buckets = ({getattr(one, name) for one in self.workers} for name in ("folder", "bucket"))
        return [place for places in (folders, buckets) for place in sorted(places) if place]

    @property
    def recipients(self) -> list[str]:
        """Whom they are encrypted to."""
        return sorted({recipient for worker in self.workers for recipient in worker.recipients.split()})

    def last(self, kind: BackupRun.Step, *, is_done: bool = False) -> BackupRun | None:
        """Return the last run of a kind; with `is_done`, the last one that went well."""
        return next((run for run in self.runs if run.kind == kind and not (is_done and run.error)), None)

    def leave_out_manual(self) -> "BackupState":
        """Leave out what someone made elsewhere by hand, which says nothing about the scheduled ones."""
        return BackupState([run for run in self.runs if run.place in self.places], self.workers)


def report_backups() -> tuple[str, str]:
    """Return what is wrong with the scheduled backups, and what to know else; both empty when all is well. They name no
    place, because anyone may read them.
    """
    state = BackupState.load()
    return error_of(state), note_of(state)


def note_of(state: BackupState) -> str:
    """Say that nobody makes backups, where nobody wants any."""
    return "" if state.is_wanted else "nobody makes any by schedule"


def error_of(state: BackupState) -> str:
    """Say what is wrong, judging by what is recorded."""
    if not state.is_wanted:
        return ""
    return _parts_error(state) or _runs_error(state)


def _parts_error(state: BackupState) -> str:
    """Say how the settings of workers differ from each other, or from those of this process, if it has any."""
    workers = state.workers
    if not workers:
        return "no worker runs that could make any"
    if not any(worker.folder for worker in workers):
        return "nobody makes any: BIGMIND_BACKUP_DIR is set here, and on no worker"
    ours = {
        "BIGMIND_BACKUP_DIR": _own_folder(),
        "BIGMIND_BACKUP_BUCKET": settings.BACKUP_BUCKET,
        "BIGMIND_BACKUP_RECIPIENTS": " ".join(sorted(settings.BACKUP_RECIPIENTS)),
    }
    for (variable, here), field in zip(ours.items(), ("folder", "bucket", "recipients"), strict=True):
        theirs = [getattr(worker, field) for worker in workers]
        if any(one != theirs[0] for one in theirs):
            return f"{variable} is not the same on all workers"
        if here and here != theirs[0]:
            return f"{variable} is not the same here as on the worker, whose holds"
    return ""


def _own_folder() -> str:
    """The folder that this process is set to, unless it is the one in its own home, which follows from a bucket."""
    is_default = settings.BACKUP_BUCKET and not environment().backup_dir
    return "" if is_default else settings.BACKUP_DIR


def _runs_error(state: BackupState) -> str:
    kinds, ours = BackupRun.Step, state.leave_out_manual()
    tried, made, copied = (
        ours.last(kinds.MADE),
        ours.last(kinds.MADE, is_done=True),
        ours.last(kinds.COPIED, is_done=True),
    )
    rehearsed = state.last(kinds.REHEARSED)
    if made and timezone.now() - made.at > LATE * timedelta(hours=live.BACKUP_EVERY_HOURS):
        return f"the newest is of {made.at:%Y-%m-%d %H:%M} UTC, and one is due every {live.BACKUP_EVERY_HOURS} hours"
    if tried and tried.error:
        return "the last one failed"
    if not made and _is_older_than(FIRST):
        return "none was ever made"
    if made and state.recipients and not made.is_encrypted:
        return "the newest is not encrypted, although a recipient is set"
    if made and any(worker.bucket for worker in state.workers) and (copied is None or copied.name != made.name):
        return "the newest is not in the bucket"
    if rehearsed and rehearsed.error:
        return "the last rehearsal of a restore failed"
    return ""


def _is_older_than(age: timedelta) -> bool:
    """Whether the first user has been here for so long."""
    return User.objects.filter(created_at__lt=timezone.now() - age).exists()

"""What came of making backups, one row each; and whether all is well, for health and pages."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import psycopg
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone

from accounts.models import BackupRun, User, Worker
from accounts.services.workers import workers_alive
from bigmind.core.errors import BigMindError, Conflict, Invalid
from bigmind.database.read_only import is_read_only

from .making import Backup

KEPT = 30
"""Rows kept of those that went well, and of those that failed; nothing reads more."""
ERROR_CHARS = 300
LATE = 2
"""After this many intervals without a backup, something is wrong."""
FIRST = timedelta(days=1)
"""After this long without any, too: the first one is due at once."""


def note_run(
    backup: Backup | None = None,
    *,
    place: str,
    began: float,
    name: str = "",
    error: Exception | None = None,
) -> None:
    """Record a result, and delete old ones. If the database takes no writes, only the record is lost.

    Args:
        began: When it began, by `time.monotonic`.
        name: The backup's name, if only that is known.
    """
    # A database of an older version has no such table.
    with suppress(DatabaseError), transaction.atomic():
        if is_read_only():
            return
        BackupRun.objects.create(
            name=backup.name if backup else name,
            place=place[:300],
            seconds=time.monotonic() - began,
            bytes=backup.bytes if backup else 0,
            error=str(error or "")[:ERROR_CHARS],
        )
        # What fails is tried again every ten minutes, and must not push out when it last went well.
        alike = BackupRun.objects.exclude(error="") if error else BackupRun.objects.filter(error="")
        kept = alike.order_by("-at", "-pk").values("pk")[:KEPT]
        alike.exclude(pk__in=kept).delete()


@contextmanager
def recording(*, place: str, name: str = "") -> Iterator[Callable[..., None]]:
    """Record what fails inside the block, whatever it is. Yields what records that it went well.

    Raises:
        Invalid: something else than a refusal went wrong; it says what, and the next step.
    """
    record = partial(note_run, place=place, began=time.monotonic())
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
        """The folders where they go."""
        return sorted({worker.folder for worker in self.workers} - {""})

    def last(self, *, is_done: bool = False) -> BackupRun | None:
        """Return the last run; with `is_done`, the last one that went well."""
        return next((run for run in self.runs if not (is_done and run.error)), None)

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
    theirs = {worker.folder for worker in workers}
    if len(theirs) > 1:
        return "BIGMIND_BACKUP_DIR is not the same on all workers"
    if settings.BACKUP_DIR and settings.BACKUP_DIR not in theirs:
        return "BIGMIND_BACKUP_DIR is not the same here as on the worker, whose holds"
    return ""


def _runs_error(state: BackupState) -> str:
    ours = state.leave_out_manual()
    tried, made = ours.last(), ours.last(is_done=True)
    if made and timezone.now() - made.at > LATE * timedelta(hours=settings.BACKUP_EVERY_HOURS):
        return (
            f"the newest is of {made.at:%Y-%m-%d %H:%M} UTC, and one is due every {settings.BACKUP_EVERY_HOURS} hours"
        )
    if tried and tried.error:
        return "the last one failed"
    if not made and _is_older_than(FIRST):
        return "none was ever made"
    return ""


def _is_older_than(age: timedelta) -> bool:
    """Whether the first user has been here for so long."""
    return User.objects.filter(created_at__lt=timezone.now() - age).exists()

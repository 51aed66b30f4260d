"""Scheduled backups: made when due, and each recorded with its result."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.utils import timezone

from accounts.models import BackupRun
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.privacy.scrub.notes import keep_notes_of_database

from .making import Backup, alone, backups_in, remove_outdated, write_backup
from .manifest import MANIFEST, read_manifest
from .retention import Retention
from .runs import recording


@dataclass(frozen=True)
class BackupPlan:
    """Where backups go, and how long to keep them."""

    folder: Path
    keep: Retention

    @classmethod
    def from_settings(cls) -> "BackupPlan | None":
        """Return the settings of this process; None where it has no folder for backups."""
        if not settings.BACKUP_DIR:
            return None
        keep = Retention(
            settings.BACKUP_KEEP, settings.BACKUP_KEEP_DAILY, settings.BACKUP_KEEP_WEEKLY, settings.BACKUP_KEEP_MONTHLY
        )
        return cls(Path(settings.BACKUP_DIR), keep)

    @classmethod
    def require(cls) -> "BackupPlan":
        """Return the settings of this worker, which an admin asked to make a backup.

        Raises:
            Invalid: it has no folder for backups. That is recorded.
        """
        with recording(place=""):
            if plan := cls.from_settings():
                return plan
            raise Invalid(
                "The worker that took this has no folder for backups.",
                hint="Set BIGMIND_BACKUP_DIR to the same on each worker, and restart them.",
            )


def back_up(plan: BackupPlan) -> Backup:
    """Make a backup, and return it. What fails is recorded.

    Raises:
        Invalid: it cannot be made.
        Conflict: another one is being made.
    """
    with _turn(plan) as database:
        return _back_up(plan, database)


def back_up_when_due(plan: BackupPlan, *, every: timedelta) -> Backup | None:
    """Make a backup if the last one was long enough ago.

    The schedulers of any number of workers may call this as often as they like: the clock is what is recorded in the
    database, and looked at under the lock.
    """
    try:
        with _turn(plan) as database:
            with suppress(Invalid):  # A damaged file of notes is said by the check “scrubs”.
                keep_notes_of_database()
            of_folder = BackupRun.objects.filter(place=str(plan.folder)[:300], error="")
            last = of_folder.order_by("-at", "-pk").first()
            if last is None or timezone.now() - last.began_at >= every:
                return _back_up(plan, database)
    except Conflict:
        pass  # Another process is making one, and records it.
    return None


@contextmanager
def _turn(plan: BackupPlan) -> Iterator["psycopg.Connection[Any]"]:
    """Yield a connection that holds the lock. That the database cannot be reached is a backup that failed."""
    with ExitStack() as turn:
        with recording(place=str(plan.folder)):
            database = turn.enter_context(alone())
        yield database


def _back_up(plan: BackupPlan, database: "psycopg.Connection[Any]") -> Backup:
    place = str(plan.folder)
    with recording(place=place) as record:
        backup = write_backup(database, plan.folder)
        record(backup)
    # The new one is whole: it is recorded, whatever becomes of the old ones.
    with recording(place=place, name=backup.name):
        remove_outdated(plan.folder, plan.keep)
    return backup


def find_backup(place: str) -> Path:
    """Return the folder of a named backup, or of the newest one in a folder.

    Raises:
        NotFound: there is none.
    """
    folder = Path(place).absolute()
    return folder if (folder / MANIFEST).exists() else _newest_in(folder)


def _newest_in(folder: Path) -> Path:
    found = next(iter(backups_in(folder)), None)
    if found is None:
        read_manifest(folder)  # Raises an error that says what is missing.
        raise NotFound(f"There is no backup in {folder}.", hint="`bigmind backup PATH` makes one.")
    return found.folder

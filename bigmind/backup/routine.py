"""Scheduled backups: made when due, copied to object storage, and each recorded with its result."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from django.conf import settings
from django.utils import timezone

from accounts.models import BackupRun
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.environment import environment
from bigmind.environment.live_settings import live
from bigmind.privacy.scrub.notes import FILE as NOTES
from bigmind.privacy.scrub.notes import keep_notes_of_database

from .bucket import SCHEME, Bucket
from .making import Backup, alone, backups_in, remove_outdated, time_of_backup, write_backup
from .manifest import MANIFEST, read_manifest
from .retention import Retention
from .runs import recording


@dataclass(frozen=True)
class BackupPlan:
    """Where backups go, who can decrypt them, and how long to keep them."""

    folder: Path
    keep: Retention
    recipients: tuple[str, ...] = ()
    bucket: str = ""

    @classmethod
    def from_settings(cls) -> "BackupPlan | None":
        """Return the settings of this process; None where it has no folder for backups."""
        if not settings.BACKUP_DIR:
            return None
        keep = Retention(live.BACKUP_KEEP, live.BACKUP_KEEP_DAILY, live.BACKUP_KEEP_WEEKLY, live.BACKUP_KEEP_MONTHLY)
        return cls(Path(settings.BACKUP_DIR), keep, settings.BACKUP_RECIPIENTS, settings.BACKUP_BUCKET)

    @classmethod
    def require(cls, step: BackupRun.Step) -> "BackupPlan":
        """Return the settings of this worker, which an admin asked to do something.

        Raises:
            Invalid: it has no folder for backups. That is recorded.
        """
        with recording(step, place=""):
            if plan := cls.from_settings():
                return plan
            raise Invalid(
                "The worker that took this has no folder for backups.",
                hint="Set BIGMIND_BACKUP_DIR to the same on each worker, and restart them.",
            )


def back_up(plan: BackupPlan) -> Backup:
    """Make a backup, copy it to the bucket if there is one, and return it. Each step is recorded, even if it fails.

    Raises:
        Invalid: it cannot be made or copied. A backup that was made stays.
        NotFound: there is no such bucket.
        Conflict: another one is being made.
    """
    with _turn(plan) as database:
        return _back_up(plan, database)


def back_up_when_due(plan: BackupPlan, *, every: timedelta) -> Backup | None:
    """Make a backup if the last one was long enough ago; copy the last one if it has not been copied yet.

    The schedulers of any number of workers may call this as often as they like: the clock is what is recorded in the
    database, and looked at under the lock.
    """
    kinds, of_folder = BackupRun.Step, BackupRun.objects.filter(place=str(plan.folder)[:300])
    try:
        with _turn(plan) as database:
            with suppress(Invalid):  # A damaged file of notes is said by the check “scrubs”.
                keep_notes_of_database()
            last = of_folder.filter(kind=kinds.MADE, error="").order_by("-at", "-pk").first()
            if last is None or timezone.now() - last.began_at >= every:
                return _back_up(plan, database)
            copies = BackupRun.objects.filter(kind=kinds.COPIED, name=last.name, error="", place=plan.bucket)
            if plan.bucket and not copies.exists():
                _copy_here(last.name, plan)
    except Conflict:
        pass  # Another process is making one, and records it.
    return None


@contextmanager
def _turn(plan: BackupPlan) -> Iterator["psycopg.Connection[Any]"]:
    """Yield a connection that holds the lock. That the database cannot be reached is a backup that failed."""
    with ExitStack() as turn:
        with recording(BackupRun.Step.MADE, place=str(plan.folder)):
            database = turn.enter_context(alone())
        yield database


def _back_up(plan: BackupPlan, database: "psycopg.Connection[Any]") -> Backup:
    made, place = BackupRun.Step.MADE, str(plan.folder)
    with recording(made, place=place) as record:
        backup = write_backup(database, plan.folder, plan.recipients)
        record(backup)
    # The new one is whole: it is recorded, whatever becomes of the old ones.
    with recording(made, place=place, name=backup.name):
        remove_outdated(plan.folder, plan.keep)
    if plan.bucket:
        copy_backup(backup, plan)
    return backup


def _copy_here(name: str, plan: BackupPlan) -> None:
    """Copy a backup, if it is on this machine."""
    found = next((one for one in backups_in(plan.folder) if one.name == name), None)
    if found:
        copy_backup(found, plan)


def copy_backup(backup: Backup, plan: BackupPlan) -> None:
    """Copy a backup to the bucket, and delete outdated ones there. The result is recorded, even if it fails.

    Raises:
        Invalid: the storage does not answer, or does not let us in.
        NotFound: there is no such bucket.
    """
    with recording(BackupRun.Step.COPIED, place=plan.bucket, name=backup.name) as record:
        bucket = Bucket.at(plan.bucket)
        bucket.upload(backup.folder)
        bucket.upload_notes(environment().home / NOTES)
        bucket.remove_outdated(plan.keep)
        record(backup)


@contextmanager
def backup_at(place: str) -> Iterator[Path]:
    """Yield the folder of a named backup, or of the newest one in a folder or a bucket. One in a bucket is first
    fetched into `BIGMIND_HOME`, still encrypted, and removed afterwards.

    Raises:
        NotFound: there is none.
        Invalid: the bucket does not answer, or does not let us in.
    """
    if not place.startswith(SCHEME):
        folder = Path(place).absolute()
        yield folder if (folder / MANIFEST).exists() else _newest_in(folder)
        return
    bucket, name = _find_in_bucket(place)
    home = environment().home
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="fetched-", dir=home) as aside:
        yield bucket.download(name, Path(aside))


def _newest_in(folder: Path) -> Path:
    found = next(iter(backups_in(folder)), None)
    if found is None:
        read_manifest(folder)  # Raises an error that says what is missing.
        raise NotFound(f"There is no backup in {folder}.", hint="`bigmind backup PATH` makes one.")
    return found.folder


def _find_in_bucket(place: str) -> tuple[Bucket, str]:
    """Return the bucket of an address, and the name of the backup in it."""
    parent, _, name = place.rstrip("/").rpartition("/")
    try:
        time_of_backup(name)
        return Bucket.at(parent), name
    except ValueError:
        bucket = Bucket.at(place)
    newest = next(iter(bucket.backups()), None)
    if newest is None:
        raise NotFound(f"There is no backup in {bucket}.", hint=f"`bigmind backup {bucket}` makes one.")
    return bucket, newest.name

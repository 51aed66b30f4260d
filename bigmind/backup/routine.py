"""Scheduled backups: made when due, copied to object storage, and each recorded with its result."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings

from accounts.models import BackupRun
from bigmind.core.errors import BigMindError, Conflict, NotFound
from bigmind.core.live_settings import live
from bigmind.environment import environment
from bigmind.scrub.notes import FILE as NOTES

from .bucket import SCHEME, Bucket
from .making import Backup, backups_in, make_backup, time_of_backup
from .manifest import MANIFEST, read_manifest
from .retention import Retention
from .runs import note_run


@dataclass(frozen=True)
class BackupPlan:
    """Where backups go, who can decrypt them, and how long to keep them."""

    folder: Path
    keep: Retention
    recipients: tuple[str, ...] = ()
    bucket: str = ""

    @classmethod
    def from_settings(cls) -> "BackupPlan":
        """Return the current settings. Call this only if they name a folder."""
        keep = Retention(live.BACKUP_KEEP, live.BACKUP_KEEP_DAILY, live.BACKUP_KEEP_WEEKLY, live.BACKUP_KEEP_MONTHLY)
        return cls(Path(settings.BACKUP_DIR).expanduser(), keep, settings.BACKUP_RECIPIENTS, settings.BACKUP_BUCKET)


def back_up(plan: BackupPlan) -> Backup:
    """Make a backup, copy it to the bucket if there is one, and return it. Both steps are recorded, even if they fail.

    Raises:
        Invalid: it cannot be made or copied. A backup that was made stays.
        NotFound: there is no such bucket.
        Conflict: another one is being made.
    """
    began = time.monotonic()
    try:
        backup = make_backup(plan.folder, keep=plan.keep, recipients=plan.recipients)
    except Conflict:
        raise  # Another process is making one, and records it.
    except BigMindError as error:
        note_run(BackupRun.Step.MADE, place=str(plan.folder), began=began, error=error)
        raise
    note_run(BackupRun.Step.MADE, backup, place=str(plan.folder), began=began)
    if plan.bucket:
        copy_backup(backup, plan)
    return backup


def copy_backup(backup: Backup, plan: BackupPlan) -> None:
    """Copy a backup to the bucket, and delete outdated ones there. The result is recorded, even if it fails.

    Raises:
        Invalid: the storage does not answer, or does not let us in.
        NotFound: there is no such bucket.
    """
    bucket, began = Bucket.at(plan.bucket), time.monotonic()
    try:
        bucket.upload(backup.folder)
        bucket.upload_notes(environment().home / NOTES)
        bucket.remove_outdated(plan.keep)
    except BigMindError as error:
        note_run(BackupRun.Step.COPIED, backup, place=plan.bucket, began=began, error=error)
        raise
    note_run(BackupRun.Step.COPIED, backup, place=plan.bucket, began=began)


def back_up_when_due(plan: BackupPlan, *, every: timedelta) -> Backup | None:
    """Make a backup if the newest one is old enough; copy the newest one if it has not been copied yet.

    The scheduler may call this as often as it likes.
    """
    newest = next(iter(backups_in(plan.folder)), None)
    if newest is None or datetime.now(UTC) - time_of_backup(newest.name) >= every:
        try:
            return back_up(plan)
        except Conflict:
            return None  # Another process is making one.
    kinds, of_newest = BackupRun.Step, BackupRun.objects.filter(name=newest.name, error="")
    if not of_newest.filter(kind=kinds.MADE).exists():  # The database was restored, or it was put there.
        at = time_of_backup(newest.name)
        note_run(kinds.MADE, newest, place=str(plan.folder), began=time.monotonic(), at=at)
    if plan.bucket and not of_newest.filter(kind=kinds.COPIED, place=plan.bucket).exists():
        copy_backup(newest, plan)
    return None


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

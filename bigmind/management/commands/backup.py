"""Back up the whole instance, list the backups, or verify one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.template.defaultfilters import filesizeformat

from bigmind.backup.bucket import SCHEME, Bucket
from bigmind.backup.encryption import identity_file, read_identities
from bigmind.backup.making import Backup, backups_in, time_of_backup
from bigmind.backup.programs import running_database
from bigmind.backup.restoring import verify_backup
from bigmind.backup.retention import Retention
from bigmind.backup.routine import BackupPlan, back_up, backup_at
from bigmind.environment import environment
from bigmind.management.base import IDENTITY, OperatorCommand, argument, usage_error


class Command(OperatorCommand):
    """Back up the whole instance: the database, vectors included, and the secret key that it generated.

    BigMind may keep running: the backup is a consistent snapshot, and appears whole or not at all. Only you can read
    it. With age recipients (--recipient, or BIGMIND_BACKUP_RECIPIENTS) it is encrypted before it reaches the disk.
    """

    examples = (
        "bigmind backup",
        "bigmind backup /var/backups/bigmind --keep 7 --keep-daily 30 --keep-monthly 12",
        "bigmind backup /var/backups/bigmind --recipient age1… --copy-to s3://backups/bigmind",
        "bigmind backup s3://backups/bigmind --list",
        "bigmind backup /var/backups/bigmind --verify --identity identity.txt",
        "bigmind restore /var/backups/bigmind/bigmind-20261121T020000Z",
    )
    arguments = (
        argument(
            "path",
            nargs="?",
            default="",
            help="The folder or bucket (s3://bucket/prefix) for backups; with --verify, or a single backup. "
            "Default: BIGMIND_BACKUP_DIR.",
        ),
        argument("--keep", type=int, default=0, help="Keep this many backups and delete older ones. Default: all."),
        argument("--keep-daily", type=int, default=0, help="Also keep the last backup of this many days."),
        argument("--keep-weekly", type=int, default=0, help="Also keep the last backup of this many weeks."),
        argument("--keep-monthly", type=int, default=0, help="Also keep the last backup of this many months."),
        argument("--recipient", action="append", default=[], help="Encrypt to this age recipient; may be repeated."),
        argument(
            "--copy-to", default="", metavar="BUCKET", help="Copy the backup to object storage: s3://bucket/prefix."
        ),
        argument("--list", action="store_true", help="List the existing backups instead of making one."),
        argument(
            "--verify", action="store_true", help="Verify this backup, or the newest one there, instead of making one."
        ),
        IDENTITY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        place = options["path"] or settings.BACKUP_DIR
        keep = Retention(*(options[name] for name in ("keep", "keep_daily", "keep_weekly", "keep_monthly")))
        if not place:
            raise usage_error(
                "No destination given. Name a folder or a bucket (s3://bucket/prefix), or set BIGMIND_BACKUP_DIR."
            )
        if min(keep.newest, keep.daily, keep.weekly, keep.monthly) < 0:
            raise usage_error("--keep and its like must be 0 or more.")
        if options["list"]:
            self._list(place)
        elif options["verify"]:
            self._verify(place, options["identity"])
        else:
            self._make(place, keep, options)

    def _list(self, place: str) -> None:
        if place.startswith(SCHEME):
            found = [(one.name, one.bytes) for one in Bucket.at(place).backups()]
        else:
            found = [(one.name, one.bytes) for one in backups_in(Path(place))]
        if self.prints_json:
            rows = [{"name": name, "made_at": time_of_backup(name), "bytes": size} for name, size in found]
            self.print_json({"place": place, "backups": rows})
        elif found:
            self.print_table(("backup", "size"), [(name, _size(size)) for name, size in found])
        else:
            self.stdout.write(f"There is no backup in {place}.")

    def _verify(self, place: str, identity: Path | None) -> None:
        file = identity_file(identity)
        identities = read_identities(file) if file else None
        with backup_at(place) as folder, running_database():
            backup = verify_backup(folder, identities)
        is_closed = backup.manifest.is_encrypted and not identities
        what = "is as it was written" if is_closed else "is whole"
        self._tell(backup, place, what=what, verified=True, opened=not is_closed)
        if is_closed and not self.prints_json:
            self.remark("It is encrypted: whether it opens, and what is in it, only --identity FILE can tell.")

    def _make(self, place: str, keep: Retention, options: dict[str, Any]) -> None:
        recipients = tuple(options["recipient"]) or settings.BACKUP_RECIPIENTS
        with _folder_for(place) as folder, running_database():
            bucket = place if place.startswith(SCHEME) else options["copy_to"]
            backup = back_up(BackupPlan(folder, keep, recipients, bucket or _own_bucket(place)))
            self._tell(backup, place, what="made", verified=False, opened=True)

    def _tell(self, backup: Backup, place: str, *, what: str, verified: bool, opened: bool) -> None:
        path = f"{place.rstrip('/').removesuffix(f'/{backup.name}')}/{backup.name}"
        manifest = backup.manifest
        rows, tables = sum(manifest.rows.values()), len(manifest.rows)
        encrypted = ", encrypted" if manifest.is_encrypted else ""
        self.reply(
            {"path": path, "verified": verified, "opened": opened, **manifest.model_dump(mode="json")},
            f"{path}: {what}: {rows:,} rows in {tables} tables, {_size(backup.bytes)}{encrypted}.",
        )


def _own_bucket(place: str) -> str:
    """The bucket from the settings, for a backup that goes where the scheduler's go."""
    return settings.BACKUP_BUCKET if place == settings.BACKUP_DIR else ""


@contextmanager
def _folder_for(place: str) -> Iterator[Path]:
    """Yield the folder to make a backup in; for a bucket, one in BIGMIND_HOME that is removed afterwards."""
    if not place.startswith(SCHEME):
        yield Path(place).absolute()
        return
    Bucket.at(place).backups()  # An unreachable bucket is reported before the work, not after it.
    home = environment().home
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="backup-", dir=home) as aside:
        yield Path(aside)


def _size(size: int) -> str:
    return filesizeformat(size).replace("\xa0", " ")

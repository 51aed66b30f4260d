"""Back up the whole instance, list the backups, or verify one."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.defaultfilters import filesizeformat

from bigmind.backup.making import Backup, backups_in, time_of_backup
from bigmind.backup.programs import running_database
from bigmind.backup.restoring import verify_backup
from bigmind.backup.retention import Retention
from bigmind.backup.routine import BackupPlan, back_up, find_backup
from bigmind.management.base import OperatorCommand, argument, usage_error


class Command(OperatorCommand):
    """Back up the whole instance: the database, vectors included, and the secret key that it generated.

    BigMind may keep running: the backup is a consistent snapshot, and appears whole or not at all. Only you can read
    it.
    """

    examples = (
        "bigmind backup",
        "bigmind backup /var/backups/bigmind --keep 7 --keep-daily 30 --keep-monthly 12",
        "bigmind backup /var/backups/bigmind --list",
        "bigmind backup /var/backups/bigmind --verify",
        "bigmind restore /var/backups/bigmind/bigmind-20261121T020000Z",
    )
    arguments = (
        argument(
            "path",
            nargs="?",
            default="",
            help="The folder for backups; with --verify, or a single backup. Default: BIGMIND_BACKUP_DIR.",
        ),
        argument("--keep", type=int, default=0, help="Keep this many backups and delete older ones. Default: all."),
        argument("--keep-daily", type=int, default=0, help="Also keep the last backup of this many days."),
        argument("--keep-weekly", type=int, default=0, help="Also keep the last backup of this many weeks."),
        argument("--keep-monthly", type=int, default=0, help="Also keep the last backup of this many months."),
        argument("--list", action="store_true", help="List the existing backups instead of making one."),
        argument(
            "--verify", action="store_true", help="Verify this backup, or the newest one there, instead of making one."
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        place = options["path"] or settings.BACKUP_DIR
        keep = Retention(*(options[name] for name in ("keep", "keep_daily", "keep_weekly", "keep_monthly")))
        if not place:
            raise usage_error("No destination given. Name a folder, or set BIGMIND_BACKUP_DIR.")
        if min(keep.newest, keep.daily, keep.weekly, keep.monthly) < 0:
            raise usage_error("--keep and its like must be 0 or more.")
        if options["list"]:
            self._list(place)
            return
        with running_database():
            if options["verify"]:
                self._report(verify_backup(find_backup(place)), "is whole", verified=True)
            else:
                self._report(back_up(BackupPlan(Path(place).absolute(), keep)), "made", verified=False)

    def _list(self, place: str) -> None:
        found = [(one.name, one.bytes) for one in backups_in(Path(place))]
        if self.prints_json:
            rows = [{"name": name, "made_at": time_of_backup(name), "bytes": size} for name, size in found]
            self.print_json({"place": place, "backups": rows})
        elif found:
            self.print_table(("backup", "size"), [(name, _size(size)) for name, size in found])
        else:
            self.stdout.write(f"There is no backup in {place}.")

    def _report(self, backup: Backup, what: str, *, verified: bool) -> None:
        manifest = backup.manifest
        rows, tables = sum(manifest.rows.values()), len(manifest.rows)
        self.reply(
            {"path": str(backup.folder), "verified": verified, **manifest.model_dump(mode="json")},
            f"{backup.folder}: {what}: {rows:,} rows in {tables} tables, {_size(backup.bytes)}.",
        )


def _size(size: int) -> str:
    return filesizeformat(size).replace("\xa0", " ")

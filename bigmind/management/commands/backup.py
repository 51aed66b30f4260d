"""Back the whole instance up, or verify a backup."""

from pathlib import Path
from typing import Any

from django.template.defaultfilters import filesizeformat

from bigmind.backup.making import Backup, backups_in, make_backup
from bigmind.backup.manifest import MANIFEST
from bigmind.backup.programs import running_database
from bigmind.backup.restoring import verify_backup
from bigmind.core.errors import NotFound
from bigmind.management.base import OperatorCommand, argument, usage_error


class Command(OperatorCommand):
    """Back the whole instance up into a folder: database, vectors included, and the secret key that it made.

    It may run meanwhile: the backup is of one moment, and appears whole or not at all. Only you can read it.
    """

    examples = (
        "bigmind backup /var/backups/bigmind",
        "bigmind backup /var/backups/bigmind --keep 7",
        "bigmind backup /var/backups/bigmind --verify",
        "bigmind restore /var/backups/bigmind/bigmind-20261121T020000Z",
    )
    arguments = (
        argument("path", type=Path, help="The folder that backups go to; with --verify also one of them."),
        argument("--keep", type=int, default=0, help="Keep so many there; older ones go. Default: all."),
        argument("--verify", action="store_true", help="Make none; verify this one, or the newest there."),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["keep"] < 0:
            raise usage_error("--keep must be 0 or more.")
        with running_database():
            backup = self._verify(options["path"]) if options["verify"] else self._make(options)
        if options["json"]:
            manifest = backup.manifest.model_dump(mode="json")
            self.print_json({"path": str(backup.folder), "verified": options["verify"], **manifest})
        else:
            rows, size = sum(backup.manifest.rows.values()), filesizeformat(backup.bytes).replace("\xa0", " ")
            what = "is whole" if options["verify"] else "made"
            self.stdout.write(f"{backup.folder}: {what}: {rows:,} rows in {len(backup.manifest.rows)} tables, {size}.")

    def _make(self, options: dict[str, Any]) -> Backup:
        return make_backup(options["path"].absolute(), keep=options["keep"])

    def _verify(self, path: Path) -> Backup:
        if (path / MANIFEST).exists():
            return verify_backup(path)
        newest = next(iter(backups_in(path)), None)
        if newest is None:
            raise NotFound(f"There is no backup in {path}.", hint="`bigmind backup PATH` makes one.")
        return verify_backup(newest.folder)

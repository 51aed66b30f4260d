"""Put a backup in place of what the instance holds."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from bigmind.backup.programs import running_database
from bigmind.backup.restoring import restore_backup
from bigmind.management.base import OperatorCommand, Refused


class Command(OperatorCommand):
    """Restores one backup, whole or not at all."""

    help = (
        "Restore a backup that `bigmind backup` made. It is verified before anything is touched, loaded in one"
        " transaction, and brought up to this version. A database that is not empty is refused without --replace."
    )
    examples = (
        "bigmind restore /var/backups/bigmind/bigmind-20261121T020000Z",
        "bigmind restore /var/backups/bigmind/bigmind-20261121T020000Z --replace --yes --json",
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the backup, and whether it may replace what is there."""
        parser.add_argument("path", type=Path, help="The folder of the backup: bigmind-<date>.")
        parser.add_argument("--replace", action="store_true", help="Replace a database that is not empty. Asks first.")
        parser.add_argument("--yes", action="store_true", help="Do not ask.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, restore, and say what is there now."""
        if options["replace"] and not options["yes"]:
            self._ask()
        with running_database(alone=True):
            backup = restore_backup(options["path"], replace=options["replace"])
        rows = sum(backup.manifest.rows.values())
        if options["json"]:
            self.print_json({"restored": str(backup.folder), "made_at": backup.manifest.made_at, "rows": rows})
        else:
            self.stdout.write(f"Restored {rows:,} rows as they stood at {backup.manifest.made_at:%Y-%m-%d %H:%M} UTC.")

    def _ask(self) -> None:
        if not sys.stdin.isatty():
            raise Refused("Nobody is there to be asked. Say --yes to replace without a question.")
        if input("This replaces everything in the database. Type replace to go on: ").strip() != "replace":
            raise Refused("Nothing was changed.")

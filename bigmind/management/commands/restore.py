"""Put a backup in place of what the instance holds."""

from pathlib import Path
from typing import Any

from bigmind.backup.programs import running_database
from bigmind.backup.restoring import restore_backup
from bigmind.management.base import YES, OperatorCommand, argument


class Command(OperatorCommand):
    """Restore a backup that `bigmind backup` made.

    It is verified before anything is touched, loaded in one transaction, and brought up to this version. A database
    that is not empty is refused without --replace.
    """

    examples = (
        "bigmind restore /var/backups/bigmind/bigmind-20261121T020000Z",
        "bigmind restore /var/backups/bigmind/bigmind-20261121T020000Z --replace --yes --json",
    )
    arguments = (
        argument("path", type=Path, help="The folder of the backup: bigmind-<date>."),
        argument("--replace", action="store_true", help="Replace a database that is not empty. Asks first."),
        YES,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["replace"] and not options["yes"]:
            question = "This replaces everything in the database. Type replace to go on: "
            self.ask(question, "replace", otherwise="Nothing was changed.")
        with running_database(alone=True):
            backup = restore_backup(options["path"], replace=options["replace"])
        rows = sum(backup.manifest.rows.values())
        self.reply(
            {"restored": str(backup.folder), "made_at": backup.manifest.made_at, "rows": rows},
            f"Restored {rows:,} rows as they stood at {backup.manifest.made_at:%Y-%m-%d %H:%M} UTC.",
        )

"""Replace the instance's data with a backup."""

from pathlib import Path
from typing import Any

from bigmind.backup.programs import running_database
from bigmind.backup.restoring import restore_backup
from bigmind.backup.routine import find_backup
from bigmind.management.base import YES, OperatorCommand, argument


class Command(OperatorCommand):
    """Restore a backup that `bigmind backup` made.

    It is verified before anything is touched, loaded in one transaction, and brought up to this version. A database
    that is not empty is refused without --replace. What `bigmind scrub` removed after the backup was made is removed
    again, before anyone is served.
    """

    examples = (
        "bigmind restore /var/backups/bigmind/bigmind-20261121T020000Z",
        "bigmind restore /var/backups/bigmind",
        "bigmind restore /var/backups/bigmind/bigmind-20261121T020000Z --replace --yes --json",
    )
    arguments = (
        argument("path", help="A backup (bigmind-<date>), or a folder to take the newest one from."),
        argument("--replace", action="store_true", help="Replace a database that is not empty. Asks first."),
        argument(
            "--scrubs", type=Path, help="Notes of removed texts that are kept elsewhere: `bigmind scrub --notes`."
        ),
        argument("--without-scrubs", action="store_true", help="Leave removed texts in, if their key is lost."),
        YES,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["replace"] and not options["yes"]:
            question = "This replaces everything in the database. Type replace to go on: "
            self.ask(question, "replace", otherwise="Nothing was changed.")
        with running_database(alone=True):
            backup = restore_backup(
                find_backup(options["path"]),
                replace=options["replace"],
                scrubs=options["scrubs"],
                without_scrubs=options["without_scrubs"],
            )
        rows = sum(backup.manifest.rows.values())
        self.reply(
            {
                "restored": str(backup.folder),
                "made_at": backup.manifest.made_at,
                "rows": rows,
            },
            f"Restored {rows:,} rows as they stood at {backup.manifest.made_at:%Y-%m-%d %H:%M} UTC.",
        )

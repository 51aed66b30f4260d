"""Rehearse a restore."""

from argparse import SUPPRESS
from pathlib import Path
from typing import Any

from django.conf import settings

from bigmind.backup.encryption import identity_file
from bigmind.backup.programs import running_database
from bigmind.backup.rehearsing import RehearsalReport, look_at_restored, rehearse
from bigmind.backup.routine import backup_at
from bigmind.core.errors import NotFound
from bigmind.management.base import IDENTITY, OperatorCommand, Refused, argument, usage_error


class Command(OperatorCommand):
    """Restore the newest backup into a temporary database, check it, and remove that database again.

    It verifies every byte, loads everything, counts each table against the manifest, checks the seals of the audit log
    and of company knowledge, and searches for the newest facts. The running instance is not touched. Exit code 1: the
    backup cannot be relied on.
    """

    examples = (
        "bigmind backup_rehearse",
        "bigmind backup_rehearse /var/backups/bigmind --json",
        "bigmind backup_rehearse s3://backups/bigmind --identity identity.txt",
    )
    arguments = (
        argument(
            "path",
            nargs="?",
            default="",
            help="A backup, or a folder or bucket to take the newest one from. Default: BIGMIND_BACKUP_DIR.",
        ),
        IDENTITY,
        argument("--inside", action="store_true", help=SUPPRESS),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        place = options["path"] or settings.BACKUP_DIR
        if not place:
            raise usage_error("No backup given. Name a backup, a folder or a bucket, or set BIGMIND_BACKUP_DIR.")
        if options["inside"]:
            with running_database(alone=True):
                self.print_json(look_at_restored(Path(place), options["identity"]).model_dump())
            return
        identity = identity_file(options["identity"])
        with backup_at(place) as folder:
            report = self._rehearse(folder, place, identity)
        self.reply({**report.model_dump(), "ok": not report.problems, "troubles": report.problems}, _words(report))
        if report.problems:
            raise Refused(f"The backup cannot be relied on: {'; '.join(report.problems)}.")

    def _rehearse(self, folder: Path, place: str, identity: Path | None) -> RehearsalReport:
        """Rehearse, and record the result in this instance's database, if it has one."""
        try:
            with running_database():
                return rehearse(folder, place=place, identity_file=identity)
        except NotFound:
            return rehearse(folder, place=place, identity_file=identity)


def _words(report: RehearsalReport) -> str:
    lines = (
        f"{report.backup}, made at {report.made_at} by BigMind {report.bigmind}:",
        f"  restored in {report.restore_seconds:,.1f} s: {report.rows:,} rows in {report.tables} tables, all counted",
        f"  audit log: {report.audit_lines:,} lines, {report.audit_broken} of them broken",
        f"  history of company knowledge: {report.history_broken} rows broken",
        f"  searches: {report.found} of {report.searched} found what was searched for",
    )
    return "\n".join(lines)

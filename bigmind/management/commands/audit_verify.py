"""`audit_verify`: check that neither the audit log nor a report of an erasure was altered."""

from itertools import chain
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from accounts.models import AuditEvent, AuditHead, ErasureReport
from accounts.services.audit import events_without_key, find_broken_events, head_in
from accounts.services.erasure_reports import as_file, check_report
from bigmind.backup.making import backups_in
from bigmind.core.signed_documents import SignatureVerdict
from bigmind.database.batches import in_batches
from bigmind.management.base import OperatorCommand, Refused

READ_AT_ONCE = 100


class Command(OperatorCommand):
    """Check that neither the audit log nor a report of an erasure was altered. Exit code 1: one was.

    It looks for the last line that the database notes, the file audit_head.json, each backup in BIGMIND_BACKUP_DIR, and
    what `--head` gives.
    """

    examples = (
        "bigmind audit_verify",
        "bigmind audit_verify --json",
        "bigmind audit_verify --head 17.k1:Zk3….k1:9aQ…",
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the heads that were kept elsewhere."""
        super().add_arguments(parser)
        parser.add_argument(
            "--head",
            action="append",
            default=[],
            metavar="TEXT",
            help="A last line, as in BigMind's logs, its webhook or a backup's manifest; may be repeated.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        heads = {f"the head {text[:40]}": head_in(text) for text in options["head"]} | _heads_of_backups()
        broken = [{"line": event.number, "why": event.why} for event in find_broken_events(heads)]
        reports = [
            report.pk
            for report in chain.from_iterable(in_batches(ErasureReport.objects.all(), READ_AT_ONCE))
            if check_report(as_file(report)) is SignatureVerdict.CHANGED
        ]
        if options["json"]:
            checked = {"lines": AuditEvent.objects.count(), "reports": ErasureReport.objects.count()}
            without = events_without_key()
            self.print_json({"checked": checked, "without_key": without, "broken": broken, "reports": reports})
        else:
            for row in broken:
                self.stdout.write(f"Line {row['line']}: {row['why']}.")
            for report in reports:
                self.stdout.write(f"Report {report}: it is not what was signed.")
            self.stdout.write(f"{AuditEvent.objects.count()} lines checked, {len(broken)} broken.")
            if without := events_without_key():
                self.remark(
                    f"{without} lines are from before seals had a key: the owner of the database could make them."
                )
        if broken or reports:
            raise Refused("The audit log or a report was altered.")


def _heads_of_backups() -> dict[str, AuditHead]:
    """The last lines that the manifests of this instance's backups recorded."""
    if not settings.BACKUP_DIR:
        return {}
    made = backups_in(Path(settings.BACKUP_DIR))
    return {
        f"the backup {backup.folder.name}": head_in(backup.manifest.audit_head)
        for backup in made
        if backup.manifest.audit_head
    }

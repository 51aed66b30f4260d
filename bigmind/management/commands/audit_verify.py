"""`audit_verify`: is the audit log what was written, and are the reports of erasures what was signed?"""

from typing import Any

from accounts.models import AuditEvent, ErasureReport
from accounts.services.audit import events_without_key, find_broken_events
from accounts.services.erasures import ReportVerdict, as_file, check_report
from bigmind.management.base import OperatorCommand, Refused


class Command(OperatorCommand):
    """Check that no line of the audit log and no report of an erasure was changed. Exit code 1: one was."""

    examples = ("bigmind audit_verify", "bigmind audit_verify --json")

    def handle(self, *args: Any, **options: Any) -> None:
        broken = [{"line": event.number, "why": event.why} for event in find_broken_events()]
        reports = [
            report.pk
            for report in ErasureReport.objects.order_by("pk").iterator(chunk_size=100)
            if check_report(as_file(report)) is ReportVerdict.CHANGED
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
            raise Refused("The audit log is not what was written.")

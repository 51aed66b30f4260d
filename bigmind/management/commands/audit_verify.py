"""`audit_verify`: check that the audit log, the history of company knowledge and reports of erasures are unaltered."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

from django.conf import settings

from accounts.models import AuditEvent, AuditHead, ErasureReport
from accounts.services.audit import events_without_key, find_broken_events, head_in
from accounts.services.erasure_reports import as_file, check_report
from bigmind.backup.making import backups_in
from bigmind.core.signed_documents import SignatureVerdict
from bigmind.database.batches import in_batches
from bigmind.management.base import OperatorCommand, Refused, argument
from curation.decisions.history import find_broken_seals
from curation.models import Review

READ_AT_ONCE = 100
FOREIGN = 3
LARGEST = 50_000_000


class Command(OperatorCommand):
    """Check that audit log, history of company knowledge and erasure reports are unaltered. Exit code 1: one is not.

    It looks for the last line that the database notes, the file audit_head.json, each backup in BIGMIND_BACKUP_DIR, and
    what `--head` gives. With a report, only that is checked; exit code 3: intact, signed by another instance.
    """

    examples = (
        "bigmind audit_verify",
        "bigmind audit_verify --json",
        "bigmind audit_verify --head 17.k1:Zk3….k1:9aQ…",
        "bigmind audit_verify erasure-12.json",
    )
    arguments = (
        argument("report", nargs="?", help="The number of a report of an erasure stored here, or a downloaded file."),
        argument(
            "--head",
            action="append",
            default=[],
            metavar="TEXT",
            help="A last line, as in BigMind's logs, its webhook or a backup's manifest; may be repeated.",
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["report"]:
            self._check_report(_report_at(options["report"]), as_json=options["json"])
            return
        heads = {f"the head {text[:40]}": head_in(text) for text in options["head"]} | _heads_of_backups()
        broken = [{"line": event.number, "why": event.why} for event in find_broken_events(heads)]
        history = [
            {"entry": f"C{seal.entry_id}", "number": seal.number, "why": seal.why} for seal in find_broken_seals()
        ]
        reports = [
            report.pk
            for report in chain.from_iterable(in_batches(ErasureReport.objects.all(), READ_AT_ONCE))
            if check_report(as_file(report)) is SignatureVerdict.CHANGED
        ]
        checked = {model.__name__: model.objects.count() for model in (AuditEvent, Review, ErasureReport)}
        document = {
            "checked": dict(zip(("lines", "decisions", "reports"), checked.values(), strict=True)),
            "without_key": events_without_key(),
            "broken": broken,
            "history": history,
            "reports": reports,
        }
        lines = [
            *(f"Line {row['line']}: {row['why']}." for row in broken),
            *(f"{row['entry']}, decision {row['number']}: {row['why']}." for row in history),
            *(f"Report {report}: it is not what was signed." for report in reports),
            f"{checked['AuditEvent']} lines checked, {len(broken)} broken.",
            f"{checked['Review']} decisions checked, {len(history)} broken.",
        ]
        without = document["without_key"]
        old = f"{without} lines are from before seals had a key: the owner of the database could make them."
        self.reply(document, "\n".join(lines), remark=old if without else "")
        if broken or history or reports:
            raise Refused("The audit log, the history or a report was altered.")

    def _check_report(self, report: dict[str, Any], *, as_json: bool) -> None:
        verdict, signed = check_report(report), report["signed"]
        if as_json:
            self.print_json({"verdict": verdict, "signed": signed})
        elif verdict is not SignatureVerdict.CHANGED:
            went = ", ".join(f"{count:,} {kind}" for kind, count in signed["counts"].items() if count) or "nothing"
            self.stdout.write(f"{signed['at']}, BigMind {signed['bigmind']}, asked by {signed['asked_by']}: {went}.")
        if verdict is SignatureVerdict.CHANGED:
            raise Refused("The report was altered after it was signed.")
        if verdict is SignatureVerdict.FOREIGN:
            raise Refused("The report is intact, but not signed with the key of this instance.", returncode=FOREIGN)
        self.remark("The report is intact and signed by this instance.")


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


def _report_at(reference: str) -> dict[str, Any]:
    """Return a stored report by its number, or read a downloaded one."""
    if reference.isdecimal():
        stored = ErasureReport.objects.filter(pk=int(reference)).first() if len(reference) < 19 else None
        if stored is None:
            raise Refused(f"There is no report {reference[:20]} here.")
        return as_file(stored)
    path = Path(reference)
    try:
        if path.stat().st_size > LARGEST:
            raise Refused(f"{path} is larger than a report can be.")
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path} is no report: it is not JSON.") from error
    if not isinstance(report, dict) or not isinstance(report.get("signed"), dict):
        raise Refused(f"{path} is not an erasure report.")
    return report

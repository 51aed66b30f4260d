"""`erasure_verify`: check that an erasure report is unchanged since it was signed, and who signed it."""

import json
from pathlib import Path
from typing import Any

from accounts.models import ErasureReport
from accounts.services.erasure_reports import as_file, check_report
from bigmind.core.signed_documents import SignatureVerdict
from bigmind.management.base import OperatorCommand, Refused, argument

FOREIGN = 3
LARGEST = 50_000_000


class Command(OperatorCommand):
    """Check an erasure report. Exit code 1: altered since it was signed; 3: intact, signed by another instance."""

    examples = ("bigmind erasure_verify 12", "bigmind erasure_verify erasure-12.json --json")
    arguments = (argument("report", help="The number of a report stored here, or a downloaded file."),)

    def handle(self, *args: Any, **options: Any) -> None:
        report_file = self._read_report(options["report"])
        verdict = check_report(report_file)
        if options["json"]:
            self.print_json({"verdict": verdict, "signed": report_file.get("signed")})
        elif verdict is not SignatureVerdict.CHANGED:
            self._show(report_file["signed"])
        if verdict is SignatureVerdict.CHANGED:
            raise Refused("The report was altered after it was signed.")
        if verdict is SignatureVerdict.FOREIGN:
            raise Refused("The report is intact, but not signed with the key of this instance.", returncode=FOREIGN)
        self.remark("The report is intact and signed by this instance.")

    def _read_report(self, reference: str) -> dict[str, Any]:
        if reference.isdecimal():
            report = ErasureReport.objects.filter(pk=int(reference)).first() if len(reference) < 19 else None
            if report is None:
                raise Refused(f"There is no report {reference[:20]} here.")
            return as_file(report)
        return _read(Path(reference))

    def _show(self, signed: dict[str, Any]) -> None:
        went = ", ".join(f"{count:,} {kind}" for kind, count in signed["counts"].items() if count) or "nothing"
        self.stdout.write(f"{signed['at']}, BigMind {signed['bigmind']}, asked by {signed['asked_by']}: {went}.")


def _read(path: Path) -> dict[str, Any]:
    """Read a downloaded report."""
    try:
        if path.stat().st_size > LARGEST:
            raise Refused(f"{path} is larger than a report can be.")
        report_file = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path} is no report: it is not JSON.") from error
    if not isinstance(report_file, dict) or not isinstance(report_file.get("signed"), dict):
        raise Refused(f"{path} is not an erasure report.")
    return report_file

"""Check documents before generating references from them: for a hook or a pipeline."""

from typing import Any

from bigmind.management.base import OperatorCommand, Refused, argument
from bigmind.management.sources import source_arguments, sources_of
from knowledge.references.readers.reference_drafts import ReferenceDraft
from knowledge.references.readers.validation import DraftFinding, Severity, findings_among, findings_in

SHOWN = 50


class Command(OperatorCommand):
    """Check OpenAPI documents, curated entries or other sources of references.

    Nothing is stored. Exit code 0: no error (warnings are reported), 1: errors, 2: misused.
    """

    arguments = (
        *source_arguments(many=True),
        argument("--strict", action="store_true", help="Fail on warnings as well."),
    )
    examples = (
        "bigmind references_validate openapi.yaml",
        "bigmind references_validate content/*.json --strict",
        "curl -s https://example.com/openapi.json | bigmind references_validate - --json",
    )

    def handle(self, *args: Any, **options: Any) -> None:
        drafts, found = list[ReferenceDraft](), list[DraftFinding]()
        for source in sources_of(options):
            generated, of_source = findings_in(source, options["kind"])
            drafts += generated.drafts
            found += of_source
        found += findings_among(drafts)
        errors = [finding for finding in found if finding.severity is Severity.ERROR or options["strict"]]
        if options["json"]:
            rows = [finding.model_dump(mode="json") for finding in found]
            self.print_json({"references": len(drafts), "valid": not errors, "findings": rows})
        else:
            self._tell(found)
        if errors:
            raise Refused(f"{len(errors)} of {len(found)} findings must be mended; {len(drafts)} references were read.")
        self.remark(f"{len(drafts)} references, {len(found)} warnings, no errors.")

    def _tell(self, found: list[DraftFinding]) -> None:
        ordered = sorted(found, key=lambda finding: finding.severity)
        lines = [f"{finding.severity}: {finding.where}: {finding.says}" for finding in ordered]
        self.print_some(lines, self.stdout.write, most=SHOWN)

"""Generate references from a source as JSON that people can review, edit and keep in git, or check sources first."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bigmind.management.base import NAMED, OperatorCommand, Refused, argument, usage_error
from bigmind.management.sources import source_arguments, sources_of
from knowledge.parsers.reading import replace_text
from knowledge.references.readers.curated import entry_of, generate, write_entries
from knowledge.references.readers.reference_drafts import Generated, ReferenceDraft
from knowledge.references.readers.registry import Source, generator_for, require_drafts
from knowledge.references.readers.validation import DraftFinding, Severity, findings_among, findings_in

SHOWN = 50


class Command(OperatorCommand):
    """Generate references (commands, endpoints, …) from a source as JSON. Nothing is stored.

    With --check, the sources are checked beside one another instead: OpenAPI documents, curated entries or others.
    Exit code 0: no error (warnings are reported), 1: errors, 2: misused.
    """

    arguments = (
        *source_arguments(many=True),
        argument("--out", type=Path, help="The JSON file to write. Default: standard output."),
        argument("--check", action="store_true", help="Write nothing; report what would make the references wrong."),
        argument("--strict", action="store_true", help="With --check: fail on warnings as well."),
    )
    examples = (
        "bigmind references_generate openapi.yaml --out api-endpoints.json",
        "bigmind references_generate https://api.example.com/openapi.json",
        "bigmind references_generate --check content/*.json --strict",
        "curl -s https://example.com/openapi.json | bigmind references_generate --check - --json",
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["check"]:
            self._check(options)
            return
        if len(options["sources"]) > 1:
            raise usage_error("References are generated from one source at a time; --check takes several.")
        (source,) = sources_of(options)
        generated = generator_for(source, options["kind"]).generate(source)
        require_drafts(generated, source)
        written = write_entries(generated.drafts, _moments(generated.drafts, options["out"]), generated.completeness)
        if options["out"]:
            replace_text(options["out"], written)
            remark = f"{options['out']}: {len(generated.drafts)} references."
            self.reply({"out": options["out"], "references": len(generated.drafts)}, "", remark=remark)
        else:
            self.stdout.write(written, ending="")
        self._print_problems(generated)

    def _check(self, options: dict[str, Any]) -> None:
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
            ordered = sorted(found, key=lambda finding: finding.severity)
            lines = [f"{finding.severity}: {finding.where}: {finding.says}" for finding in ordered]
            self.print_some(lines, self.stdout.write, most=SHOWN)
        if errors:
            raise Refused(f"{len(errors)} of {len(found)} findings must be mended; {len(drafts)} references were read.")
        self.remark(f"{len(drafts)} references, {len(found)} warnings, no errors.")

    def _print_problems(self, generated: Generated) -> None:
        problems = [f"{problem.where}: {problem.says}" for problem in generated.problems]
        self.print_some(problems, self.remark, named_by="references_generate --check")
        if generated.passed_over:
            self.remark(f"Not read: {', '.join(generated.passed_over[:NAMED])}.")


def _moments(drafts: Iterable[ReferenceDraft], out: Path | None) -> dict[str, str]:
    """When each reference last changed: now, unless the file being replaced already has the same one."""
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    if out is None or not out.exists():
        return {draft.key: now for draft in drafts}
    before = {draft.key: draft for draft in generate(Source(str(out))).drafts}
    read = json.loads(out.read_text())
    entries = read["entries"] if isinstance(read, dict) else read
    dates = {entry["id"]: entry.get("lastUpdated", now) for entry in entries}
    return {draft.key: dates[draft.key] if _same(before.get(draft.key), draft) else now for draft in drafts}


def _same(before: ReferenceDraft | None, draft: ReferenceDraft) -> bool:
    return before is not None and entry_of(before) == entry_of(draft)

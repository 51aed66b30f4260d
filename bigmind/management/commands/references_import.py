"""Import references from a source: what is new, changed and gone, without overwriting people's edits."""

import re
from typing import Any

from accounts.actor import Actor
from bigmind.management.base import DRY_RUN, NAMED, REPLACE, OperatorCommand, ProgressBar, argument, usage_error
from bigmind.management.people import actor_for
from bigmind.management.sources import source_arguments, sources_of
from knowledge.kb.import_consent import WouldReplace
from knowledge.parsers.repositories import SourcePlace
from knowledge.references.imports import ImportedReferences, import_generated
from knowledge.references.readers.reference_drafts import Generated
from knowledge.references.readers.registry import Source, generator_for, require_drafts

SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,49}")


class Command(OperatorCommand):
    """Import references from a source into a collection.

    Reports what is added, changed, removed and unchanged. People's edits are kept: if the
    source changed as well, the reference waits for a decision.
    """

    arguments = (
        *source_arguments(),
        argument("--collection", required=True, metavar="NAME", help="The collection, such as helios."),
        argument("--user", help="The user to import as. Default: the owner of this instance."),
        DRY_RUN,
        REPLACE,
        argument("--keep-missing", action="store_true", help="Keep references that this source no longer has."),
    )
    examples = (
        "bigmind references_import openapi.yaml --collection payments",
        "bigmind references_import content/ --collection helios --dry-run",
        "bigmind references_import https://api.example.com/openapi.json --collection example --json",
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if not SLUG.fullmatch(options["collection"]):
            raise usage_error("The name of a collection has up to 50 of a-z, 0-9 and -, such as helios.")
        (source,) = sources_of(options)
        actor = actor_for(options["user"])
        bar = ProgressBar(self.stderr, source.name, 2)
        generator = generator_for(source, options["kind"])
        generated = generator.generate(source)
        bar.advance()
        require_drafts(generated, source)
        place = generator.place(source)
        try:
            report = self._import(actor, source, place, generated, options)
        except WouldReplace as error:
            bar.clear()
            if not self.agrees(error.message):
                raise
            report = self._import(actor, source, place, generated, {**options, "replace": True})
        bar.advance()
        bar.clear()
        if options["json"]:
            problems = [problem.model_dump() for problem in generated.problems]
            self.print_json({**vars(report), "passed_over": problems, "files_not_read": generated.passed_over})
        else:
            self._tell(source, generated, report)

    def _import(
        self, actor: Actor, source: Source, place: SourcePlace | None, generated: Generated, options: dict[str, Any]
    ) -> ImportedReferences:
        return import_generated(
            actor,
            generated,
            place,
            collection=options["collection"],
            source=source.name,
            name=options["program"],
            keep_missing=options["keep_missing"],
            replaces=options["replace"],
            dry_run=options["dry_run"],
        )

    def _tell(self, source: Source, generated: Generated, report: ImportedReferences) -> None:
        would = "would be: " if report.dry_run else ""
        counts = [f"{getattr(report, name)} {name}" for name in ("added", "changed", "removed", "unchanged")]
        self.stdout.write(f"{report.collection}, from {source.name}: {would}{', '.join(counts)}.")
        for what in ("changed", "removed", "drifted"):
            for key in report.keys.get(what, [])[:NAMED]:
                self.stdout.write(f"  {what}: {key}")
        if report.drifted:
            self.remark(f"{report.drifted} were edited here and changed in the source: they wait for a decision.")
        if generated.passed_over:
            self.remark(f"Not read: {', '.join(generated.passed_over[:NAMED])}.")
        problems = [f"{problem.where}: {problem.says}" for problem in generated.problems]
        self.print_some([*problems, *report.troubles], self.remark)

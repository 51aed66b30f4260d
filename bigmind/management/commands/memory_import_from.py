"""Import a person's memory from another program."""

import os
from pathlib import Path
from typing import Any

from bigmind.management.base import REPLACE, OperatorCommand, Refused, argument, usage_error
from bigmind.management.people import actor_for
from curation.services.foreign_imports import OWN, import_bundle
from knowledge.parsers.archives import bundle_of
from knowledge.transfer.import_receipts import MovedIn
from knowledge.transfer.readers.formats import AUTO, FORMATS, NAMES

RECORDED = {one.name: one.usual_folder for one in FORMATS if one.usual_folder}


class Command(OperatorCommand):
    """Import the memory of another program.

    There are readers for the conversations of Claude Code, Codex and Gemini CLI, mem0, basic-memory, the MCP memory
    server, ChatGPT, Claude, folders of MEMORY.md and CLAUDE.md, an older BigMind, and vaults of
    Obsidian. Importing twice adds nothing.
    A row that cannot be accepted is reported with its place, and the rest is imported; the command then exits 1.
    """

    changes_memory = True
    examples = (
        "bigmind memory_import_from claude-code --dry-run",
        "bigmind memory_import_from auto ~/Downloads/chatgpt-export.zip --dry-run",
        "bigmind memory_import_from basic-memory ~/basic-memory --user ada",
        "bigmind memory_import_from obsidian ~/vault",
        "bigmind memory_import_from older-bigmind ~/.mcp/bigmind/memory.db --json",
    )
    arguments = (
        argument("format", choices=(*NAMES, OWN), help=f"What wrote it; {AUTO} looks at the files."),
        argument(
            "path",
            type=Path,
            nargs="?",
            help=f"A file, a folder or a zip archive. Default: where {', '.join(RECORDED)} keep their records here.",
        ),
        argument("--user", help="The user to import for. Default: the owner of this instance."),
        argument(
            "--remove-missing",
            action="store_true",
            help="Set aside the notes of files that the source no longer has.",
        ),
        REPLACE,
        argument("--of", default="", help="The user whose rows to take, if an older BigMind had several."),
        argument("--dry-run", action="store_true", help="Show what would be added; change nothing."),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        actor = actor_for(options["user"])
        name = options["format"]
        choice = {"removes": options["remove_missing"], "replaces": options["replace"]}
        bundle = bundle_of(options["path"] or _usual_folder(name))
        more = {"whose": options["of"]} if options["of"] else {}
        if more and name != "older-bigmind":
            raise usage_error("--of goes with the format older-bigmind only.")
        report = import_bundle(actor, bundle, name=name, **choice, dry_run=options["dry_run"], **more)
        self._report(report, options)

    def _report(self, report: MovedIn, options: dict[str, Any]) -> None:
        if options["json"]:
            self.print_json(vars(report))
        else:
            self._tell(report)
        self._end(report)

    def _tell(self, report: MovedIn) -> None:
        would = "would be added" if report.dry_run else "added"
        known = "would change" if report.dry_run else "changed"
        rows = [
            (kind, report.added[kind], report.changed.get(kind, 0), report.unchanged[kind]) for kind in report.added
        ]
        self.print_table(
            [report.format, would, known, "here already"],
            [(kind, *(f"{number:,}" for number in counts)) for kind, *counts in rows if any(counts)],
        )
        if report.dry_run:
            self.print_some(report.brings, self.stdout.write)
        self.print_some([f"says otherwise here, and stays: {what}" for what in report.kept], self.stdout.write)
        self.print_some([f"no longer in the source: {what}" for what in report.removed], self.stdout.write)
        self.print_some(report.notices, self.remark)
        if report.agent and any((*report.added.values(), *report.changed.values())):
            self.stdout.write(f"To take it back: bigmind op memory_forget_source agent={report.agent} dry_run=false")

    def _end(self, report: MovedIn) -> None:
        if not report.refused:
            return
        self.print_some(report.refused, self.remark)
        raise Refused(f"{len(report.refused)} refused; the rest {'can be' if report.dry_run else 'was'} imported.")


def _usual_folder(name: str) -> Path:
    find = RECORDED.get(name)
    if find is None:
        raise usage_error(f"Give a path. Without one only {', '.join(RECORDED)} are found.")
    return find(Path.home(), os.environ)

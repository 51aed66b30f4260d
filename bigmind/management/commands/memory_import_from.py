"""Bring in what a person's agents remembered elsewhere."""

import os
from pathlib import Path
from typing import Any

from bigmind.management.base import OperatorCommand, Refused, argument, usage_error
from bigmind.management.people import actor_for
from curation.services.foreign_imports import OWN, import_bundle
from knowledge.transfer.foreign_imports import MovedIn
from knowledge.transfer.readers import AUTO, FORMATS, NAMES
from knowledge.transfer.readers.bundles import bundle_of

RECORDED = {one.name: one.usual_folder for one in FORMATS if one.usual_folder}
NAMED = 20
"""How many refusals are printed for people; JSON has all."""


class Command(OperatorCommand):
    """Import the memory of another program.

    There are readers for the conversations of Claude Code, Codex and Gemini CLI, mem0, basic-memory, the MCP memory
    server, ChatGPT, Claude, folders of MEMORY.md and CLAUDE.md, an older BigMind. Importing twice adds nothing. A row
    that cannot be accepted is named with its place, and the rest imported; then the command exits 1.
    """

    changes_memory = True
    examples = (
        "bigmind memory_import_from claude-code --dry-run",
        "bigmind memory_import_from auto ~/Downloads/chatgpt-export.zip --dry-run",
        "bigmind memory_import_from basic-memory ~/basic-memory --user ada",
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
        argument("--user", help="Whose memory it becomes. Default: the owner of this instance."),
        argument("--of", default="", help="Whose rows to take, where an older BigMind had several users."),
        argument("--dry-run", action="store_true", help="Say what would be added, and change nothing."),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        actor = actor_for(options["user"])
        name = options["format"]
        bundle = bundle_of(options["path"] or _usual_folder(name))
        more = {"whose": options["of"]} if options["of"] else {}
        if more and name != "older-bigmind":
            raise usage_error("--of goes with the format older-bigmind only.")
        report = import_bundle(actor, bundle, name=name, dry_run=options["dry_run"], **more)
        if options["json"]:
            self.print_json(vars(report))
        else:
            self._tell(report)
        self._end(report)

    def _tell(self, report: MovedIn) -> None:
        would = "would be added" if report.dry_run else "added"
        kinds = [kind for kind in report.added if report.added[kind] or report.unchanged[kind]]
        self.print_table(
            [report.format, would, "here already"],
            [(kind, f"{report.added[kind]:,}", f"{report.unchanged[kind]:,}") for kind in kinds],
        )
        for what in report.kept[:NAMED]:
            self.stdout.write(f"says otherwise here, and stays: {what}")
        for notice in report.notices:
            self.remark(notice)
        if report.agent and any(report.added.values()):
            self.stdout.write(f"To take it back: bigmind op memory_forget_source agent={report.agent} dry_run=false")

    def _end(self, report: MovedIn) -> None:
        if not report.refused:
            return
        for line in report.refused[:NAMED]:
            self.remark(line)
        if len(report.refused) > NAMED:
            self.remark(f"and {len(report.refused) - NAMED} more; --json names them.")
        raise Refused(f"{len(report.refused)} refused; the rest {'can be' if report.dry_run else 'was'} imported.")


def _usual_folder(name: str) -> Path:
    find = RECORDED.get(name)
    if find is None:
        raise usage_error(f"Give a path. Without one only {', '.join(RECORDED)} are found.")
    return find(Path.home(), os.environ)

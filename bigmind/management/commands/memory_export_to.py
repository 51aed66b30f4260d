"""Export a memory as the files of another program."""

from pathlib import Path
from typing import Any

from bigmind.management.base import DRY_RUN, OperatorCommand, argument
from bigmind.management.people import actor_for
from knowledge.transfer.program_formats import files_for
from knowledge.transfer.readers.formats import WRITTEN
from knowledge.transfer.written_files import WrittenFiles, write_files


class Command(OperatorCommand):
    """Write a memory to a folder in another program's format. What came from a file is
    written back to it, byte for byte where nothing changed here. A file that was edited there since is left alone:
    memory_import_from imports it. Nothing is deleted. A signed file beside the others says where each item came from.
    """

    arguments = (
        argument("format", choices=tuple(WRITTEN), help="The program that will read the files."),
        argument("folder", type=Path, help="An existing folder or a new one."),
        argument("--user", help="The user whose memory to export. Default: the owner of this instance."),
        DRY_RUN,
    )
    examples = (
        "bigmind memory_export_to okf ~/memory-bundle --dry-run",
        "bigmind memory_export_to basic-memory ~/basic-memory --user ada",
    )

    def handle(self, *args: Any, **options: Any) -> None:
        actor, folder, dry_run = actor_for(options["user"]), options["folder"], options["dry_run"]
        written = write_files(files_for(actor, options["format"]), folder, dry_run=dry_run)
        if options["json"]:
            self.print_json({**vars(written), "dry_run": options["dry_run"]})
        else:
            self._tell(written, dry_run)

    def _tell(self, written: WrittenFiles, dry_run: bool) -> None:
        would = "would be " if dry_run else ""
        counts = f"{len(written.added):,} {would}added, {len(written.changed):,} {would}changed"
        self.stdout.write(f"{counts}, {written.unchanged:,} unchanged.")
        self.print_some([f"edited there, and left as it is: {path}" for path in written.kept], self.remark)

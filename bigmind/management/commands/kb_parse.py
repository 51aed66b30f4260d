"""Turn a source (lessons learned, templates, instruction files, decision records, markdown) into YAML to edit."""

from pathlib import Path
from typing import Any, get_args

from django.core.management.base import CommandParser

from bigmind.management.base import OperatorCommand, Refused
from knowledge.parsers.sources import SourceKind, parse
from knowledge.parsers.yaml_files import EntryFile, read_entries, refresh, write_entries, write_entry_file


class Command(OperatorCommand):
    """Writes the entries of a source as YAML; parsing again keeps what people edited in it."""

    help = "Turn a source into YAML that people edit and kb_seed imports. Parsing again keeps their edits."
    speaks_json = False
    examples = ("bigmind kb_parse LESSONS-LEARNED.md", "bigmind kb_parse docs/adr/0007.md --output adr-0007.yaml")

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a source and where the YAML goes."""
        parser.add_argument("source", type=Path, help="The file to read.")
        parser.add_argument("--output", type=Path, help="The YAML file to write or refresh. Default: standard output.")
        parser.add_argument(
            "--kind", choices=get_args(SourceKind), help="What it is. Default: told by name and content."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Parse, and write."""
        parsed, output = parse(options["source"], options["kind"]), options["output"]
        if not parsed.entries:
            raise Refused(f"{options['source']} holds nothing to import: no heading or bullet was understood.")
        if output is None:
            self.stdout.write(write_entries(EntryFile(parsed.entries, parsed.source_file, parsed.kind)), ending="")
            return
        before = read_entries(output) if output.exists() else EntryFile((), parsed.source_file, parsed.kind)
        refreshed = refresh(before, parsed.entries)
        write_entry_file(output, refreshed.file)
        self.remark(f"{output}: {refreshed.changes}.")
        for key in refreshed.kept:
            self.remark(f"{key}: the source changed, and your edit was kept. Look at it.")

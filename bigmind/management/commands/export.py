"""Export what everyone here shares, as files that people can read and BigMind can import."""

from pathlib import Path
from typing import Any

from bigmind.export_sections import SECTIONS
from bigmind.management.base import OperatorCommand, Refused, argument

NAMES = [section.name for section in SECTIONS]


class Command(OperatorCommand):
    """Export what everyone here shares into a new folder.

    The knowledge base is written as YAML, company knowledge with its history as JSON. People export their own memory
    (memory_export); `bigmind backup` is for the whole instance.
    """

    arguments = (
        argument("folder", type=Path, help="A folder that does not exist yet."),
        argument("--only", nargs="+", choices=NAMES, default=NAMES, help="Export only these."),
    )
    examples = ("bigmind export shared", "bigmind export shared --only entries --json")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        try:
            folder.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise Refused(f"{folder}: {error.strerror}. Name a folder that does not exist yet.") from None
        chosen = [section for section in SECTIONS if section.name in options["only"]]
        written = {}
        for section in chosen:
            (folder / section.name).mkdir(mode=0o700)
            written[section.name] = section.write(folder / section.name)
        if options["json"]:
            self.print_json({"folder": str(folder), "written": written})
        else:
            rows = [(section.title, f"{written[section.name]:,}", section.taken_back_by) for section in chosen]
            self.print_table(["what", "items", "taken back by"], rows)

"""Write the generated documents, or check that they are what the code says."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from bigmind.management.base import OperatorCommand, Refused
from bigmind.management.documents import DOCUMENTS


class Command(OperatorCommand):
    """Writes the documents that are generated from the catalogue and the settings."""

    help = "Write the generated documents: operations, settings, and the contract of the wire."
    examples = ("bigmind docs", "bigmind docs --check")

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what to do about a difference."""
        parser.add_argument("--check", action="store_true", help="Write nothing; fail when a document is stale.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write or check them."""
        root = Path(settings.BASE_DIR)
        wanted = {path: generate() for path, generate in DOCUMENTS.items()}
        stale = [path for path, text in wanted.items() if _read(root / path) != text]
        if options["check"] and stale:
            raise Refused(f"Stale: {', '.join(map(str, stale))}. Run `bigmind docs` and look at the difference.")
        for path in stale:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(wanted[path])
        if options["json"]:
            self.print_json({"written": [str(path) for path in stale]})
        else:
            self.stdout.write("\n".join(f"Wrote {path}." for path in stale) or "Everything is as the code says.")


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None

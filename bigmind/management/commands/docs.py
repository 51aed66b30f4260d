"""Write the generated documents, or check that they are what the code says."""

from pathlib import Path
from typing import Any

from django.conf import settings

from bigmind.management.base import OperatorCommand, Refused, argument
from bigmind.management.documents import DOCUMENTS


class Command(OperatorCommand):
    """Write the generated documents: operations, settings, and the contract of the wire."""

    examples = ("bigmind docs", "bigmind docs --check")
    arguments = (argument("--check", action="store_true", help="Write nothing; fail when a document is stale."),)

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        wanted = {path: generate() for path, generate in DOCUMENTS.items()}
        stale = [path for path, text in wanted.items() if _read(root / path) != text]
        if options["check"] and stale:
            raise Refused(f"Stale: {', '.join(map(str, stale))}. Run `bigmind docs` and look at the difference.")
        for path in stale:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(wanted[path])
        self.reply(
            {"written": [str(path) for path in stale]},
            "\n".join(f"Wrote {path}." for path in stale) or "Everything is as the code says.",
        )


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None

"""Write the generated documents, or check that they match the code."""

from pathlib import Path
from typing import Any

from django.conf import settings

from bigmind.management.base import OperatorCommand, Refused, argument
from devtools.documents import DOCUMENTS


class Command(OperatorCommand):
    """Write the generated documents: operations, settings, and the contract of the wire."""

    examples = ("python manage.py docs", "python manage.py docs --check")
    arguments = (argument("--check", action="store_true", help="Write nothing; fail if a document is out of date."),)

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        wanted = {path: generate() for path, generate in DOCUMENTS.items()}
        stale = [path for path, text in wanted.items() if _read(root / path) != text]
        if options["check"] and stale:
            raise Refused(f"Stale: {', '.join(map(str, stale))}. Run `make docs` and look at the difference.")
        for path in stale:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(wanted[path])
        self.reply(
            {"written": [str(path) for path in stale]},
            "\n".join(f"Wrote {path}." for path in stale) or "Every document is up to date.",
        )


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None

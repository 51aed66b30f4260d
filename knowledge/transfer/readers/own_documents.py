"""What memory_export of this BigMind wrote: it needs no importer, only to be known when it is handed over."""

import json
from typing import Any

from bigmind.core.errors import Invalid
from bigmind.core.limits import IMPORT_BYTES
from knowledge.parsers.archives import Bundle

from .json_rows import start_of

MARK = '"bigmind-memory"'


def is_own_document(bundle: Bundle) -> bool:
    """Whether it is one JSON file that says that BigMind exported it."""
    name, *more = bundle.names() or [""]
    if more or not name:
        return False
    start = start_of(bundle, name)
    return start.startswith("{") and MARK in start


def read_document(bundle: Bundle, *, limit: int = IMPORT_BYTES) -> Any:
    """Return the JSON document that a file is.

    Raises:
        Invalid: it is too large, or it is not JSON.
    """
    name = next(iter(bundle.names()), "")
    with bundle.open(name) as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise Invalid(
            f"The file has more bytes than can be taken in at once; the limit is {limit:,}. Import it in parts."
        )
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        hint = "Choose one that BigMind exported, or the export of a program that docs/moving-in.md names."
        raise Invalid(f"The file is not a JSON document. {hint}") from error

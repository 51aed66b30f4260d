"""CSV exports, in which no cell starts like a formula: a spreadsheet would execute it."""

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_of(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV, with the names of their columns in the first line."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_harmless(value) for value in row.values()])
    return text.getvalue()


def _harmless(value: object) -> str:
    text = "" if value is None else value.isoformat() if isinstance(value, datetime) else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text

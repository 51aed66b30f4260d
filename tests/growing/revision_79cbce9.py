"""What an instance of revision 79cbce9 held: its database, its keys, and what it answered whom."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Before:
    """What 79cbce9 knew: its secret key, the keys of its people, and what it answered them."""

    secret_key: str
    keys: dict[str, str]
    revoked_key: str
    questions: list[dict[str, Any]]

    @classmethod
    def read(cls) -> "Before":
        """Read what `fill_79cbce9.py` wrote beside the dump."""
        return cls(**json.loads(gzip.decompress((FOLDER / "79cbce9.json.gz").read_bytes())))


def restore(database: psycopg.Connection[Any]) -> None:
    """Restore the dump into a database that is empty."""
    with database:
        database.execute(gzip.decompress((FOLDER / "79cbce9.sql.gz").read_bytes()))

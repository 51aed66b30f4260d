"""The first BigMind's SQLite file, read as the document that its export would have been, and trusted in nothing.

It is opened read-only and immutable, with a bound on time, length and columns. Only known columns of known tables are
read: a view or a trigger that someone put into the file is never run.
"""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import Bundle

MAGIC = b"SQLite format 3\0"
SECONDS = 8.0
STEPS = 10_000
ROWS = 50_000
TEXT_BYTES = 256 * 1024
TOTAL_BYTES = 32 * 1024 * 1024
MEMORY_KIB = 16 * 1024

TABLES: dict[str, tuple[str, ...]] = {
    "users": ("id", "username"),
    "identity_profile": ("user_id", "role", "preferences", "pinned_facts"),
    "sessions": ("id", "user_id", "started_at", "ended_at", "one_liner", "topics", "outcome", "importance"),
    "session_summaries": ("id", "summary", "key_facts", "code_refs", "created_at"),
    "conversation_chunks": ("session_id", "user_id", "role", "content", "flag_reason", "seq", "created_at"),
    "facts": (
        *("id", "user_id", "category", "fact", "source_session", "confidence"),
        *("deprecated", "deprecation_reason", "created_at", "updated_at"),
    ),
    "hypotheses": (
        *("id", "session_id", "user_id", "hypothesis", "confidence", "status", "resolution"),
        *("created_at", "resolved_at"),
    ),
    "global_knowledge": ("id", "category", "title", "content", "importance", "status"),
}


def is_database(bundle: Bundle, name: str) -> bool:
    """Whether a file begins as SQLite's do."""
    with bundle.open(name) as file:
        return file.read(len(MAGIC)) == MAGIC


def document_from(bundle: Bundle, name: str, *, whose: str = "") -> dict[str, Any]:
    """Return what one user has in the database, table by table.

    Raises:
        Invalid: it is damaged, no database of BigMind, too slow to read, or holds several users and `whose` names none.
    """
    with _on_disk(bundle, name) as path:
        try:
            with closing(_open(path)) as connection:
                return _document(connection, name, whose)
        except sqlite3.Error as error:
            raise Invalid(f"{name}: cannot be read as a database: {error}.", hint="Give a whole copy of it.") from None


@contextmanager
def _on_disk(bundle: Bundle, name: str) -> Iterator[Path]:
    """The file as SQLite can open it: a copy of our own, with what a running program had not yet written into it."""
    with tempfile.TemporaryDirectory(prefix="bigmind-import-") as folder:
        copy = Path(folder) / "memory.db"
        for source, target in ((name, copy), (f"{name}-wal", Path(f"{copy}-wal"))):
            if source in bundle.names():
                with bundle.open(source) as file, target.open("wb") as written:
                    shutil.copyfileobj(file, written)
        yield copy


def _open(path: Path) -> sqlite3.Connection:
    has_log = Path(f"{path}-wal").exists()
    # With `immutable` SQLite would not read the log, and to read it, it writes beside the file: beside our copy of it.
    connection = sqlite3.connect(f"{path.as_uri()}?mode={'rw' if has_log else 'ro&immutable=1'}", uri=True)
    connection.row_factory = sqlite3.Row
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, TEXT_BYTES * 4)
    connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 20)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    give_up = time.monotonic() + SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > give_up, STEPS)
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", f"cache_size = -{MEMORY_KIB}"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA query_only = ON")
    # After the pragmas, which it would refuse.
    connection.set_authorizer(_allows)
    return connection


def _allows(action: int, table: str | None, column: str | None, database: str | None, source: str | None) -> int:
    """Allow reading our tables and the list of tables; `source` is the view or trigger that asks, and none may."""
    if source is None and action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    is_known = table in TABLES or table in {"sqlite_master", "sqlite_schema"}
    if source is None and action == sqlite3.SQLITE_READ and is_known:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and column == "length":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _document(connection: sqlite3.Connection, name: str, whose: str) -> dict[str, Any]:
    tables = {row["name"] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not {"facts", "sessions"} <= tables:
        raise Invalid(f"{name}: has no tables called facts and sessions.", hint="Give the file memory.db of BigMind.")
    budget = _Budget(name)
    read = {table: list(_rows(connection, table, budget)) if table in tables else [] for table in TABLES}
    user = _user(read, name, whose)
    mine = {
        table: [row for row in rows if "user_id" not in TABLES[table] or user is None or row.get("user_id") == user]
        for table, rows in read.items()
    }
    return {key: rows for key, rows in mine.items() if key != "users"}


class _Budget:
    """How much may still be read of a database: it is all in memory at once."""

    def __init__(self, name: str) -> None:
        self._name, self._rows, self._bytes = name, 0, 0

    def spend(self, row: dict[str, Any]) -> None:
        """Take a row into account.

        Raises:
            Invalid: it was one too many.
        """
        self._rows += 1
        self._bytes += sum(len(value) for value in row.values() if isinstance(value, str))
        if self._rows > ROWS or self._bytes > TOTAL_BYTES:
            raise Invalid(f"{self._name}: has more than {ROWS:,} rows or {TOTAL_BYTES:,} characters.")


def _rows(connection: sqlite3.Connection, table: str, budget: _Budget) -> Iterator[dict[str, Any]]:
    """The rows of a table, without columns that are not ours, and without values that are no words."""
    columns = [column for column in TABLES[table] if _has(connection, table, column)]
    selected = ", ".join(f'"{column}"' for column in columns)
    for row in connection.execute(f'SELECT {selected} FROM "{table}"'):  # noqa: S608 - both are from our list
        record = {column: row[column] for column in columns if not isinstance(row[column], bytes)}
        budget.spend(record)
        yield record


def _has(connection: sqlite3.Connection, table: str, column: str) -> bool:
    """Whether the table has the column: older files lack some."""
    try:
        connection.execute(f'SELECT "{table}"."{column}" FROM "{table}" LIMIT 0')  # noqa: S608 - both are from our list
    except sqlite3.OperationalError as error:
        if "no such column" in str(error):
            return False
        raise
    return True


def _user(read: dict[str, list[dict[str, Any]]], name: str, whose: str) -> Any:
    """The id of the user whose rows are meant; None where the file knows no users."""
    users = {str(row.get("username")): row.get("id") for row in read["users"]}
    if whose:
        if whose not in users:
            raise Invalid(f"{name}: has no user {whose}.", hint=f"It has: {', '.join(sorted(users))[:500] or 'none'}.")
        return users[whose]
    if len(users) > 1:
        names = ", ".join(sorted(users))[:500]
        raise Invalid(f"{name}: holds the memory of several users: {names}.", hint="Say whose you bring in: --of NAME.")
    return next(iter(users.values()), None)

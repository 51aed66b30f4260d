"""The cache that the processes of one machine share without Redis: a file of SQLite that may be lost at any time."""

import json
import os
import pickle
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, TypeVar

import structlog
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

LEAVE_ALONE_SECONDS = 5.0
FOR_EVER = 1e12
"""When what never expires does: seconds since 1970, as everywhere in the file."""
WRITES_BETWEEN_CULLS = 500
PATIENCE_MS = 500

# No write waits for the disk: after a loss of power the file is made again, by `bigmind up`.
_OPEN = f"""
PRAGMA busy_timeout = {PATIENCE_MS};
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -256;
CREATE TABLE IF NOT EXISTS kept_since (key TEXT PRIMARY KEY, value, since REAL, until REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kept_since_until ON kept_since (until);
"""
_PUT = (
    "INSERT INTO kept_since (key, value, since, until) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value, since = excluded.since, until = excluded.until"
)
# What was kept in the future was kept before the clock was set back, and would last until that time comes again.
_FIND = "SELECT value FROM kept_since WHERE key = ?2 AND until > ?1 AND since <= ?1 + 1"
_FIND_ALL = (
    "SELECT key, value FROM kept_since"
    " WHERE key IN (SELECT value FROM json_each(?2)) AND until > ?1 AND since <= ?1 + 1"
)
_COUNT = "UPDATE kept_since SET value = value + ?3 WHERE key = ?2 AND until > ?1 AND since <= ?1 + 1 RETURNING value"
_MAKE_ROOM = "DELETE FROM kept_since WHERE key IN (SELECT key FROM kept_since ORDER BY until LIMIT ?)"
_TOUCH = "UPDATE kept_since SET until = ?3 WHERE key = ?2 AND until > ?1 AND since <= ?1 + 1"

Answer = TypeVar("Answer")

log = structlog.get_logger()


class CacheFile:
    """One connection to a file, which the threads of a process take turns at: an answer takes some microseconds."""

    _opened: ClassVar[dict[tuple[int, str], "CacheFile"]] = {}

    def __init__(self, path: str) -> None:
        self.lock = Lock()
        self.away_until = 0.0
        self.writes = 0
        self._path = path
        self._connection: sqlite3.Connection | None = None

    @classmethod
    def at(cls, path: str) -> "CacheFile":
        """Return the file as this process has it open: a connection must not be carried over a fork."""
        key = (os.getpid(), path)
        return cls._opened.get(key) or cls._opened.setdefault(key, cls(path))

    def connection(self) -> sqlite3.Connection:
        """Return the connection, opened at the first use."""
        if self._connection is None:
            Path(self._path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            opened = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            opened.executescript(_OPEN)
            self._connection = opened
        return self._connection

    def hang_up(self) -> None:
        """Open it again at the next use: it may have been replaced."""
        self._connection = None


class FileCache(BaseCache):
    """A cache in a file, which behaves like an empty one while the file cannot be used."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._location = location

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        name = self.make_and_validate_key(key, version=version)
        row = self._or_else(
            None,
            lambda file: file.execute(_FIND, (time.time(), name)).fetchone(),
        )
        return default if row is None else _unpack(row[0])

    def get_many(self, keys: Iterable[Any], version: int | None = None) -> dict[Any, Any]:
        """Return what is kept under these keys, in one statement."""
        names = {self.make_and_validate_key(key, version=version): key for key in keys}
        asked = time.time(), json.dumps([*names])
        rows: list[Any] = self._or_else([], lambda file: file.execute(_FIND_ALL, asked).fetchall())
        return {names[name]: _unpack(value) for name, value in rows}

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        """Keep a value, if that is possible."""
        values = (self.make_and_validate_key(key, version=version), _pack(value), time.time(), self._until(timeout))
        self._write(None, lambda file: file.execute(_PUT, values))

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Keep a value unless there is one; say that it was added when nobody can know."""
        now = time.time()
        values = (self.make_and_validate_key(key, version=version), _pack(value), now, self._until(timeout), now, now)
        free = "WHERE kept_since.until <= ? OR kept_since.since > ? + 1"
        return self._write(True, lambda file: file.execute(f"{_PUT} {free}", values).rowcount > 0)

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        """Count up; 0 when nobody can count.

        Raises:
            ValueError: nothing is kept under this key.
        """
        name = self.make_and_validate_key(key, version=version)
        row = self._write((0,), lambda file: file.execute(_COUNT, (time.time(), name, delta)).fetchone())
        if row is None:
            raise ValueError(f"Nothing is kept under {key!r}.")
        return int(row[0])

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Keep a value for longer; say whether there was one."""
        values = (time.time(), self.make_and_validate_key(key, version=version), self._until(timeout))
        return self._write(False, lambda file: file.execute(_TOUCH, values).rowcount > 0)

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Forget a value; say whether there was one."""
        values = (time.time(), self.make_and_validate_key(key, version=version))

        def forget(file: sqlite3.Connection) -> bool:
            found = file.execute(_FIND, values).fetchone() is not None
            file.execute("DELETE FROM kept_since WHERE key = ?", values[1:])
            return found

        return self._write(False, forget)

    def delete_many(self, keys: Iterable[Any], version: int | None = None) -> None:
        """Forget several values in one statement."""
        names = [(self.make_and_validate_key(key, version=version),) for key in keys]
        self._write(None, lambda file: file.executemany("DELETE FROM kept_since WHERE key = ?", names))

    def has_key(self, key: Any, version: int | None = None) -> bool:
        """Say whether something is kept."""
        return self.get(key, self, version=version) is not self

    def clear(self) -> None:
        """Forget everything."""
        self._write(None, lambda file: file.execute("DELETE FROM kept_since"))

    def _until(self, timeout: Any) -> float:
        ends = self.get_backend_timeout(timeout)
        return FOR_EVER if ends is None else float(ends)

    def _write(self, otherwise: Answer, ask: Callable[[sqlite3.Connection], Answer]) -> Answer:
        answer = self._or_else(otherwise, ask)
        opened = CacheFile.at(self._location)
        opened.writes += 1
        if opened.writes % WRITES_BETWEEN_CULLS == 0:
            self._or_else(None, self._cull)
        return answer

    def _cull(self, file: sqlite3.Connection) -> None:
        """Remove what has expired and, where there is still too much, what would expire first."""
        file.execute("DELETE FROM kept_since WHERE until <= ?", (time.time(),))
        too_many = file.execute("SELECT count(*) - ? FROM kept_since", (self._max_entries,)).fetchone()[0]
        if too_many > 0:
            most = too_many + self._max_entries // self._cull_frequency
            file.execute(_MAKE_ROOM, (most,))

    def _or_else(self, otherwise: Answer, ask: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Ask the file; when it cannot be used, leave it alone for a while and say `otherwise`."""
        opened = CacheFile.at(self._location)
        with opened.lock:
            if time.monotonic() < opened.away_until:
                return otherwise
            try:
                return ask(opened.connection())
            except (sqlite3.Error, OSError) as error:
                opened.hang_up()
                opened.away_until = time.monotonic() + LEAVE_ALONE_SECONDS
                log.warning("The shared cache cannot be used; it is left alone for a moment.", error=str(error))
                return otherwise


def _pack(value: Any) -> int | bytes:
    """Numbers stay numbers, so that the file can count them."""
    return value if type(value) is int else pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def _unpack(kept: int | bytes) -> Any:
    # Only BigMind's own account can write to the file, as to everything else in its home.
    return kept if isinstance(kept, int) else pickle.loads(kept)  # noqa: S301

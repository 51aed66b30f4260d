"""A cache of recent key look-ups, so that a serving process does not look up the key of every call.

The database tells every process that listens when a key or its user changes (migration 0031), and a row is forgotten
after half a second in any case: also where nobody can listen, as behind some pools. Decision 63.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

import psycopg

from bigmind.database.change_notifications import listening_parameters

CHANNEL = "bigmind_keys"
"""Where the database tells of changes. The migration has this name, too."""
KEPT_SECONDS = 0.5
MOST_KEPT = 10_000
RECONNECT_SECONDS = 2.0

Row = Sequence[Any]


class KnownKeys:
    """The rows of keys with their users, by the digest of the key. Rows, because objects could be changed by a call."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[float, Row]] = {}
        self._is_on = False
        self.changes = 0
        """How often something was forgotten: what was read before the last time is not kept any more."""

    @contextmanager
    def remember(self) -> Iterator[None]:
        """Keep what is looked up inside this block, in this process."""
        self._is_on = True
        try:
            yield
        finally:
            self._is_on = False
            self.forget()

    def find(self, digest: str) -> Row | None:
        """Return the row of a key, if it was read within the last half second and nothing changed since."""
        until, row = self._rows.get(digest, (0.0, None))
        return row if until > monotonic() else None

    def keep(self, digest: str, row: Row, *, read_at: float, changes: int) -> None:
        """Keep a row that was asked for at `read_at`, when so many changes were known."""
        if not self._is_on or changes != self.changes:
            return
        if len(self._rows) >= MOST_KEPT:
            self._rows.clear()
        self._rows[digest] = (read_at + KEPT_SECONDS, row)

    def forget(self) -> None:
        """Look every key up again: one of them has changed."""
        self.changes += 1
        self._rows.clear()


KNOWN_KEYS = KnownKeys()


async def forget_changed_keys() -> None:
    """Forget what this process knows of keys whenever one changes, until this is cancelled."""
    past_pool = True
    while True:
        with suppress(psycopg.Error, OSError):
            # The other address is tried next, unless this one connects: then it is the one to come back to.
            parameters, past_pool = listening_parameters(past_pool=past_pool), not past_pool
            async with await psycopg.AsyncConnection.connect(**parameters) as ear:
                await ear.execute(f"LISTEN {CHANNEL}")
                past_pool = not past_pool
                async for _ in ear.notifies():
                    KNOWN_KEYS.forget()
        await asyncio.sleep(RECONNECT_SECONDS)

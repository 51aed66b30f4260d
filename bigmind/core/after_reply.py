"""What is written down after a reply: the ledgers, which no reply needs. Decisions 63 and 91.

A process that serves lets rows wait until the reply is out, and writes all that waits at once; any other process writes
a row at once. A process that is killed loses the rows of the last moment, and never anything that was stored.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction

WRITTEN_AFTER = 0.05
"""Seconds that rows wait for others."""
MOST_WAITING = 20_000
MOST_TOGETHER = 1_000

Write = Callable[[Sequence[Any]], None]

log = structlog.get_logger()


class AfterReply:
    """The rows that wait to be written down in this process, each with the function that writes rows of its ledger."""

    def __init__(self) -> None:
        self.is_on = False
        self._waiting: deque[tuple[Write, Any]] = deque(maxlen=MOST_WAITING)
        self._people: set[UUID] = set()
        self._writing_of: set[UUID] = set()
        self._access, self._one_at_a_time = Lock(), Lock()
        self._wake: Callable[[], object] = bool

    @contextmanager
    def gather(self, wake: Callable[[], object] = bool) -> Iterator[None]:
        """Let rows wait inside this block; its caller calls `write` soon after each `wake`, and at the end."""
        self.is_on, self._wake = True, wake
        try:
            yield
        finally:
            self.is_on, self._wake = False, bool

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, write: Write, row: Any, *, user_id: UUID | None = None) -> None:
        """Let a row wait until its transaction has committed and the reply is out. With too many, the oldest goes.

        Args:
            write: Writes rows of this ledger.
            user_id: Whose next call may ask for it.
        """
        if self.is_on:
            transaction.on_commit(partial(self._add, write, row, user_id))
        else:
            write([row])

    def settle(self, user_id: UUID) -> None:
        """Write down what waits, if anything of this user does: what follows asks for it, or erases what it is of."""
        if user_id in self._people or user_id in self._writing_of:
            self.write()

    def write(self) -> None:
        """Write down what waits. When this returns, all that waited before is written."""
        with self._one_at_a_time:
            with self._access:
                rows: dict[Write, list[Any]] = {}
                for write, row in self._waiting:
                    rows.setdefault(write, []).append(row)
                self._waiting.clear()
                self._writing_of, self._people = self._people, set()
            try:
                for write, some in rows.items():
                    _write(write, some)
            finally:
                self._writing_of = set()

    def _add(self, write: Write, row: Any, user_id: UUID | None) -> None:
        with self._access:
            self._waiting.append((write, row))
            if user_id:
                self._people.add(user_id)
        self._wake()


def _write(write: Write, rows: Sequence[Any]) -> None:
    for first in range(0, len(rows), MOST_TOGETHER):
        try:
            write(rows[first : first + MOST_TOGETHER])
        except Exception:  # The reply is out: nobody is left to answer, and the other ledgers are written.
            log.exception("A ledger was not written.", ledger=write.__name__, rows=len(rows))


AFTER_REPLY = AfterReply()

"""Wakes workers after a commit. Best effort only: the queue is the row in the database, and a sweep finds the rest."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock
from time import monotonic

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from bigmind.observability.logging import current_request_id

LEAVE_ALONE_SECONDS = 30.0
WOKEN_BY = "bigmind_request_id"
"""The header of a message that names the request it was sent in. What the scheduler sends has none."""

log = structlog.get_logger()


class _Broker:
    """Until when the broker counts as unreachable, so that not every write waits for it."""

    away_until = 0.0


@dataclass(frozen=True)
class _Wake:
    """Wakes a worker for one task. Two of the same task are equal: that is how `after_commit` finds duplicates."""

    task: str

    def __call__(self) -> None:
        if monotonic() < _Broker.away_until:
            return
        try:
            woken_by = {WOKEN_BY: current_request_id()}
            current_app.send_task(self.task, retry=False, ignore_result=True, headers=woken_by)
        except (OperationalError, OSError) as error:
            _Broker.away_until = monotonic() + LEAVE_ALONE_SECONDS
            log.warning("The worker was not woken; the sweep will find the work.", task=self.task, error=str(error))


def after_commit(task: str) -> None:
    """Wake a worker for `task` when the transaction has committed: once, however often the transaction calls this.

    An unreachable broker neither fails nor delays a write: it is left alone for half a minute, and the next sweep does
    the work.
    """
    wake = _Wake(task)
    # Without this check an import of thousands of rows would send thousands of messages. Skipping a duplicate is safe:
    # a rolled-back savepoint removes a call from the list only together with all later calls.
    if all(wake != call for _, call, *_ in transaction.get_connection().run_on_commit):
        transaction.on_commit(wake)


class OneAtATime:
    """Runs some work in one thread of a process at a time, however often the process is woken for it.

    Each write wakes a worker for the same queue of rows. While one thread empties the queue, the others would only wait
    for its locks, and no thread would be left for other tasks.
    """

    def __init__(self) -> None:
        self._is_asked, self._busy = Event(), Lock()

    def run(self, work: Callable[[], object]) -> None:
        """Do the work, or leave it to the thread that is doing it now: that one repeats it afterwards."""
        # The flag comes before the lock: otherwise a busy thread that has just checked the flag would miss this call.
        self._is_asked.set()
        while self._is_asked.is_set() and self._busy.acquire(blocking=False):
            try:
                self._is_asked.clear()
                work()
            finally:
                self._busy.release()

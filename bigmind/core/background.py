"""Wakes workers after a commit, best effort: the queue is the row in the database, and a sweep finds the rest."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Semaphore
from time import monotonic
from typing import Any

import structlog
from celery import Task, current_app
from django.db import InterfaceError, transaction
from django.db import OperationalError as DatabaseAway
from kombu.exceptions import OperationalError

from bigmind.core.deadlocks import retry_collisions
from bigmind.core.errors import BigMindError
from bigmind.core.tracing import current_request_id
from bigmind.observability.outages import OUTAGES, REDIS, outage_behind

LEAVE_ALONE_SECONDS = 30.0
TRY_EVERY = 1.0
WOKEN_BY = "bigmind_request_id"
"""The header of a message with the id of the request that sent it. The scheduler sends none."""
PING = "bigmind.tasks.ping"
"""The task that each worker asks for, so that it has something to take."""

log = structlog.get_logger()


class _Broker:
    """Until when the broker is taken to be unreachable, so that not every write waits for it."""

    away_until = 0.0


@dataclass(frozen=True)
class _Wake:
    """Wakes a worker for one task. Two of the same task are equal: that is how `after_commit` finds duplicates."""

    task: str

    def __call__(self) -> None:
        if monotonic() < (until := _Broker.away_until):
            return
        if until:  # One thread tries whether it is back; the others do not wait.
            _Broker.away_until = monotonic() + LEAVE_ALONE_SECONDS
        try:
            woken_by = {WOKEN_BY: current_request_id()}
            current_app.send_task(self.task, retry=False, ignore_result=True, headers=woken_by)
        except (OperationalError, OSError) as error:
            _Broker.away_until = monotonic() + LEAVE_ALONE_SECONDS
            log.warning("The worker was not woken; the sweep will find the work.", task=self.task, error=error)
        else:
            if until:
                _Broker.away_until = 0.0
                OUTAGES.note_answer(REDIS)


def reach_broker(broker: Any, callback: Callable[[], object] | None = None) -> Any:
    """Return a connection to the broker when it answers: it is tried each second.

    Args:
        callback: Called between two tries.
    """

    def note(error: Exception, _wait: float) -> None:
        outage = outage_behind(error) or "broker"
        log.warning("The broker does not answer; it is tried each second.", outage=outage, error=error)

    connected = broker.ensure_connection(note, None, TRY_EVERY, 0, TRY_EVERY, callback=callback)
    OUTAGES.note_answer(REDIS)
    return connected


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


class FewAtATime:
    """Runs some work in one thread of a process at a time, or in a few, however often the process is woken for it.

    Each write wakes a worker for the same queue of rows. While one thread empties the queue, the others would only wait
    for its locks, and no thread would be left for other tasks.
    """

    def __init__(self, threads: int = 1) -> None:
        self._is_asked, self._busy = Event(), Semaphore(threads)

    def run(self, work: Callable[[], object]) -> None:
        """Do the work. A thread that is already doing it repeats it afterwards instead."""
        # The flag comes first: otherwise a busy thread that has just checked it would miss this call.
        self._is_asked.set()
        while self._is_asked.is_set() and self._busy.acquire(blocking=False):
            try:
                self._is_asked.clear()
                work()
            finally:
                self._busy.release()


class BackgroundTask(Task):  # type: ignore[misc]  # Celery has no types.
    """A task of a worker. Each kind has `threads` of a process at most, so that none waits behind another."""

    abstract = True
    threads = 1
    throws = (DatabaseAway, InterfaceError, BigMindError)
    """Errors that Celery logs in a line: the next sweep does the work, and a refusal says all there is to say."""

    def __init__(self) -> None:
        self._turns = FewAtATime(self.threads)

    def __call__(self) -> None:
        """Do the work, or leave it to a thread that is already doing it."""
        self._turns.run(lambda: retry_collisions(self.run))

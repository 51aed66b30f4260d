"""Waking the worker: a courtesy, never a promise. The row in the database is the queue, and a sweep finds it."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock
from time import monotonic

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from bigmind.observability.request_ids import current_request_id

LEAVE_ALONE_SECONDS = 30.0
WOKEN_BY = "bigmind_request_id"
"""The header of a message that names the request it was sent in. What the scheduler sends has none."""

log = structlog.get_logger()


class _Broker:
    """When the broker was found away, so that not every write has to find out again."""

    away_until = 0.0


@dataclass(frozen=True)
class _Wake:
    """What wakes a worker for one task."""

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
    """Wake a worker for `task` once the transaction has committed: once, however often the transaction asks.

    A broker that is away is no reason to refuse a write or to hold it up: for half a minute nobody asks it again, and
    the next sweep does the work.
    """
    wake = _Wake(task)
    # An import of thousands would else leave thousands of messages, and the worker would be busy reading them. A call
    # that is on the list leaves it only together with every later one: with the savepoint they were both made in.
    if all(wake != call for _, call, *_ in transaction.get_connection().run_on_commit):
        transaction.on_commit(wake)


class OneAtATime:
    """Work that a process does once at a time, however often it is woken for it.

    Each write wakes a worker for the same queue of rows. While one thread works it off, the others would only wait in
    the same place, and nothing else would get a thread.
    """

    def __init__(self) -> None:
        self._is_asked, self._busy = Event(), Lock()

    def run(self, work: Callable[[], object]) -> None:
        """Do the work, or leave it to the thread that does it now: that one does it once more when it is done."""
        self._is_asked.set()
        while self._is_asked.is_set() and self._busy.acquire(blocking=False):
            try:
                self._is_asked.clear()
                work()
            finally:
                self._busy.release()

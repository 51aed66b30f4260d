"""Waking the worker: a courtesy, never a promise. The row in the database is the queue, and a sweep finds it."""

from time import monotonic

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

LEAVE_ALONE_SECONDS = 30.0

log = structlog.get_logger()


class _Broker:
    """When the broker was found away, so that not every write has to find out again."""

    away_until = 0.0


def after_commit(task: str) -> None:
    """Wake a worker for `task` once the transaction has committed.

    A broker that is away is no reason to refuse a write or to hold it up: for half a minute nobody asks it again, and
    the sweep of the next minute does the work.
    """
    transaction.on_commit(lambda: _wake(task))


def _wake(task: str) -> None:
    if monotonic() < _Broker.away_until:
        return
    try:
        current_app.send_task(task, retry=False, ignore_result=True)
    except (OperationalError, OSError) as error:
        _Broker.away_until = monotonic() + LEAVE_ALONE_SECONDS
        log.warning("The worker was not woken; the sweep will find the work.", task=task, error=str(error))

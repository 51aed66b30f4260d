"""Waking the worker: a courtesy, never a promise. The row in the database is the queue, and a sweep finds it."""

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = structlog.get_logger()


def after_commit(task: str, *ids: int | str) -> None:
    """Wake a worker for `task` once the transaction has committed.

    A broker that is away is no reason to refuse a write: the sweep of the next minute does the work.
    """
    transaction.on_commit(lambda: _wake(task, ids))


def _wake(task: str, ids: tuple[int | str, ...]) -> None:
    try:
        current_app.send_task(task, args=ids, retry=False, ignore_result=True)
    except (OperationalError, OSError) as error:
        log.warning("The worker was not woken; the sweep will find the work.", task=task, error=str(error))

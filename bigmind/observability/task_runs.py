"""What every background task has: the id of the request that started it, a line in the log, a counter."""

from time import perf_counter
from typing import Any

import structlog
from celery.signals import task_postrun, task_prerun
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections

from bigmind.core.background import PING, WOKEN_BY
from bigmind.core.tracing import current_request_id
from bigmind.database.roles import NotOwner
from bigmind.observability.logging import begin_request
from bigmind.observability.outages import outage_behind

log = structlog.get_logger()


@task_prerun.connect(dispatch_uid="bigmind.observability.task_runs")
def begin_run(task: Any, **_: Any) -> None:
    """Give the log lines of a task the id of the request that started it, or a new one; look to its connections."""
    close_old_connections()
    begin_request(_waking_request_id(task) or "")
    structlog.contextvars.bind_contextvars(task=task.name)
    task.request.began = perf_counter()


@task_postrun.connect(dispatch_uid="bigmind.observability.task_runs")
def end_run(task: Any, state: str, retval: Any, **_: Any) -> None:
    """Count the run, and log it if it failed or was slow."""
    seconds = perf_counter() - getattr(task.request, "began", perf_counter())
    error = type(retval).__name__ if state == "FAILURE" else ""
    if error or seconds * 1000 >= settings.SLOW_MILLISECONDS:
        words = "A task failed." if error else "A task was slow."
        given = {"outage": outage_behind(retval) if error else ""}
        given |= {"reason": str(retval)} if isinstance(retval, NotOwner) else {}
        log.warning(words, outcome=error or "ok", milliseconds=round(seconds * 1000, 1), **given)
    if task.name != PING:
        _tally(task, seconds, error)
    close_old_connections()


def _tally(task: Any, seconds: float, error: str) -> None:
    # Imported here because Celery's application is imported before Django is set up.
    from accounts.services.task_statistics import tally_task

    scheduled = _waking_request_id(task) is None
    try:
        tally_task(task.name, seconds=seconds, scheduled=scheduled, request_id=current_request_id(), error=error)
    except DatabaseError as error:
        log.warning("A run was not counted.", error=error)


def _waking_request_id(task: Any) -> str | None:
    """Return the id of the request that started a task; None where the scheduler did."""
    woken_by = getattr(task.request, WOKEN_BY, None)
    return woken_by if isinstance(woken_by, str) else None

"""The scheduler inside the worker of `bigmind up`: a thread, because a separate process would take 40 MB.

Nothing keeps two from running: what is due is claimed, each piece of work by itself, and so done once.
"""

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import click
import structlog
from celery import Celery, bootsteps
from celery.beat import Service

OPTION = "--with-scheduler"
LONGEST_SLEEP = 1
AGAIN_AFTER = 5.0

log = structlog.get_logger()


class SchedulerThread(Thread):
    """Schedules until it is stopped; restarts after a failure, such as a full disk."""

    def __init__(self, app: Celery, file: str) -> None:
        super().__init__(name="scheduler", daemon=True)
        given = {"max_interval": LONGEST_SLEEP, "schedule_filename": file, "remote_control": False}
        self._make: Callable[[], Any] = lambda: Service(app, **given)
        self._service = self._make()
        self._stops = Event()

    def run(self) -> None:
        """Send tasks that are due."""
        while not self._stops.is_set():
            try:
                self._service.start()
            except Exception as error:  # noqa: BLE001 - the outermost loop of a thread
                log.warning("The scheduler failed and starts again.", error=str(error))
            if not self._stops.wait(AGAIN_AFTER):
                self._service = self._make()

    def stop(self) -> None:
        """Stop sending tasks."""
        self._stops.set()
        self._service.stop()


class SchedulerStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types.
    """Schedules from a thread of the worker, if the worker gets a file to keep the last times in.

    Celery's own `--beat` starts a process instead, which outlives a worker that is killed.
    """

    def __init__(self, worker: Any, with_scheduler: str | None = None, **options: Any) -> None:
        self.enabled = bool(with_scheduler)
        self._file = with_scheduler or ""
        super().__init__(worker, **options)

    def create(self, worker: Any) -> Any:
        """Return the thread, which Celery starts and stops."""
        return SchedulerThread(worker.app, self._file)


def add_scheduler_option(app: Celery) -> None:
    """Add the option to an application's workers."""
    app.user_options["worker"].add(click.Option([OPTION], metavar="FILE", help="Also run the scheduler, in a thread."))
    app.steps["worker"].add(SchedulerStep)

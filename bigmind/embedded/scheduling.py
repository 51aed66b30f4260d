"""The scheduler inside the worker of `bigmind up`: a thread, because a separate process would take 40 MB.

Nothing keeps two from running: what is due is claimed, each piece of work by itself, and so done once.
"""

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import click
import structlog
from celery import Celery, bootsteps
from celery.beat import PersistentScheduler, Service

from bigmind.core.background import reach_broker

SCHEDULER_OPTION, PULSE_OPTION = "--with-scheduler", "--pulse"
LONGEST_SLEEP = 1
AGAIN_AFTER = 5.0

log = structlog.get_logger()


class LastingScheduler(PersistentScheduler):  # type: ignore[misc]  # Celery has no types.
    """Celery's scheduler, which is back soon after the broker is: its own waits up to 30 s between two tries."""

    def _ensure_connected(self) -> Any:
        return reach_broker(self.connection)


class SchedulerThread(Thread):
    """Schedules until it is stopped; restarts after a failure, such as a full disk."""

    def __init__(self, app: Celery, file: str) -> None:
        super().__init__(name="scheduler", daemon=True)
        given = {"max_interval": LONGEST_SLEEP, "schedule_filename": file, "remote_control": False}
        self._make: Callable[[], Any] = lambda: Service(app, scheduler_cls=LastingScheduler, **given)
        self._service = self._make()
        self._stops = Event()

    def run(self) -> None:
        """Send tasks that are due."""
        while not self._stops.is_set():
            try:
                self._service.start()
            except Exception as error:  # noqa: BLE001 - the outermost loop of a thread
                log.warning("The scheduler failed and starts again.", error=error)
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


def add_worker_options(app: Celery) -> None:
    """Let an application's workers schedule, too, and show in a file of the supervisor that they take work."""
    app.user_options["worker"].add(click.Option([SCHEDULER_OPTION], metavar="FILE", help="Schedule, in a thread."))
    app.user_options["worker"].add(click.Option([PULSE_OPTION], metavar="FILE", help="Count there what is taken."))
    # By its name: only a worker needs what it imports.
    app.steps["worker"].update([SchedulerStep, "bigmind.embedded.task_consumer:TakingStep"])

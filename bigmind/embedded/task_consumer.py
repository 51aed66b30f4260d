"""How a worker gets its work: a consumer that outlives Redis, and a thread that finds out whether it takes anything."""

from hashlib import sha256
from pathlib import Path
from socket import gethostname
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import structlog
from celery import bootsteps
from celery.signals import task_prerun
from celery.worker import state
from celery.worker.consumer import Consumer
from django.db import Error as DatabaseError
from django.db import close_old_connections

from accounts.services.workers import forget_worker, note_worker
from bigmind.core.background import PING, TRY_EVERY, reach_broker
from bigmind.embedded.heartbeats import TAKING, Pulse
from bigmind.environment import environment

PING_EVERY = 5.0

log = structlog.get_logger()


class LastingConsumer(Consumer):  # type: ignore[misc]  # Celery has no types.
    """Celery's consumer, which connects again after whatever goes wrong, and soon.

    Celery's own waits up to 30 s between two tries, gives up after a hundred, and ends the worker on an error that it
    does not expect. Then the worker takes nothing more, and waits for what it has in hand to end first.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.connection_errors = (Exception,)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Let the lost connection go, whatever it says to that."""
        try:
            super().on_connection_error_after_connected(exc)
        except Exception as error:  # noqa: BLE001 - a new connection is made next
            log.warning("The lost connection to the broker could not be closed.", error=error)
            self.connection = None
        sleep(TRY_EVERY)

    def ensure_connected(self, conn: Any) -> Any:
        """Wait until the broker answers."""
        connected = reach_broker(conn, state.maybe_shutdown)
        self.first_connection_attempt = False
        return connected


class TakingThread(Thread):
    """Asks for a ping by the way of all work, and records when this worker last took something.

    Any worker may take a ping: Redis gives each message to the one that has waited longest. So each that waits takes
    about as many as it sends.
    """

    def __init__(self, worker: Any, pulse: Path | None) -> None:
        super().__init__(name="taking", daemon=True)
        self._worker, self._name = worker, name_of_this_worker()
        self._pulse = Pulse(pulse) if pulse else None
        self._stops = Event()
        self._took: float | None = None

    def run(self) -> None:
        """Ping and record until the worker stops."""
        task_prerun.connect(self._note, dispatch_uid="bigmind.embedded.task_consumer", weak=False)
        self._record(is_over=False)
        is_over = False
        while not is_over:
            is_busy = len(state.active_requests) >= self._worker.concurrency
            # Nobody is to blame for taking nothing who has all hands full, or whom Redis gives nothing.
            if is_busy or not self._ping():
                self._beat()
            is_over = self._stops.wait(PING_EVERY)
            self._record(is_over=is_over)

    def stop(self) -> None:
        """Stop pinging, and forget this worker: it ends as it should."""
        self._stops.set()
        self.join(PING_EVERY)

    def _note(self, **_: Any) -> None:
        self._took = monotonic()
        self._beat()

    def _beat(self) -> None:
        if self._pulse is not None:
            self._pulse.beat(TAKING)

    def _ping(self) -> bool:
        try:
            self._worker.app.send_task(PING, retry=False, ignore_result=True, expires=3 * PING_EVERY)
        except Exception:  # noqa: BLE001 - kombu raises what Redis makes it raise; the consumer says it in the log
            return False
        return True

    def _record(self, *, is_over: bool) -> None:
        try:
            close_old_connections()
            if is_over:
                forget_worker(self._name)
            else:
                note_worker(self._name, self._took and monotonic() - self._took)
        except DatabaseError:
            pass  # Health says that the database is away.


def name_of_this_worker() -> str:
    """Return what a worker is called: the same after it was started again, and another one for each home."""
    return f"{gethostname()}-{sha256(str(environment().home).encode()).hexdigest()[:4]}"


class TakingStep(bootsteps.StartStopStep):  # type: ignore[misc]
    """Runs that thread in each worker, and counts in the file of a supervisor that gives one."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, pulse: str | None = None, **options: Any) -> None:
        self._pulse = Path(pulse) if pulse else None
        super().__init__(worker, **options)

    def create(self, worker: Any) -> TakingThread:
        """Return the thread, which Celery starts and stops."""
        return TakingThread(worker, self._pulse)

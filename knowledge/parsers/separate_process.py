"""Runs a function in a separate process that can be killed, with a budget of processor time, memory and time.

What reads a large file from outside goes here, so that a hostile one costs its sender a refusal and others nothing. The
first call starts a template process (`python -m knowledge.parsers.separate_process`), which imports what it is to run
and forks for each call: 20 ms instead of a start of 2 s. It knows no secret of the instance and no database.
"""

import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import ParamSpec, TypeVar

from django.utils import timezone

from bigmind.core.errors import BigMindError, Invalid, TooMany

P = ParamSpec("P")
R = TypeVar("R")

AT_ONCE = 2
NAME_BYTES = 200
"""Each request to the template is of this length, so that one read takes it whole, with the descriptor beside it."""
SIZE_BYTES = 8
ANSWER_BYTES = 256 * 1024 * 1024
MIB = 1024 * 1024
PASSED = (
    *("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"),
    *("BIGMIND_SECRETS", "BIGMIND_SOURCE_MEGABYTES", "BIGMIND_MODE", "BIGMIND_TIME_ZONE"),
)
"""The environment variables that the template process gets."""
NOTHING = {"BIGMIND_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none", "BIGMIND_SECRET_KEY": "none is needed here"}
"""The settings want both: without them they would find the embedded database, and read or make the instance's key."""


@dataclass(frozen=True)
class ProcessBudget:
    """What one call may take: seconds of processor time, seconds in all, and memory beside what is imported."""

    processor_seconds: int = 10
    seconds: int = 30
    megabytes: int = 256


class _Template:
    """The process that forks for each call, as this process sees it; each process has its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._control: socket.socket | None = None
        self._owner = 0

    def begin(self, module: str) -> socket.socket:
        """Return a connection to a new process that has imported a module."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                self._ask(module, theirs)
            except OSError:  # It has ended.
                self._control = None
                self._ask(module, theirs)
        return ours

    def _ask(self, module: str, theirs: socket.socket) -> None:
        if self._control is None or self._owner != os.getpid():
            self._start()
        assert self._control is not None
        socket.send_fds(self._control, [module.encode().ljust(NAME_BYTES)], [theirs.fileno()])

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        self._owner = os.getpid()
        with theirs:
            subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "knowledge.parsers.separate_process", str(theirs.fileno())],
                cwd=Path(__file__).parents[2],
                env={name: os.environ[name] for name in PASSED if name in os.environ} | NOTHING,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )


_template = _Template()
_places = BoundedSemaphore(AT_ONCE)


def perform_apart(
    what: str, budget: ProcessBudget, function: Callable[P, R], *arguments: P.args, **named: P.kwargs
) -> R:
    """Run a function of a module in a separate process, and return its result or raise its refusal.

    Function, arguments and result travel as pickles, with the time zone of the caller. Two such calls run at once in
    a process; others wait for them.

    Args:
        what: What is being read, as the refusal calls it: a file, by its name.

    Raises:
        Invalid: it took more than the budget, and was killed.
        TooMany: others took all the time that this one would have had.
        BigMindError: what the function raises.
    """
    if not _places.acquire(timeout=budget.seconds):
        raise TooMany("Other large files are being read.", retry_after=budget.seconds)
    try:
        with _template.begin(function.__module__) as process:
            zone = timezone.get_current_timezone_name()
            answer = _exchange(process, pickle.dumps((budget, zone, function, arguments, named)), budget)
    finally:
        _places.release()
    if answer is None:
        raise Invalid(
            f"{what} takes more than {budget.processor_seconds} s of processor time, {budget.seconds} s in all or "
            f"{budget.megabytes} MB of memory to read, and was stopped. Split it into smaller parts."
        )
    is_well, result = pickle.loads(answer)  # noqa: S301 - our own code wrote it
    if not is_well:
        raise result
    return result  # type: ignore[no-any-return]


def _exchange(process: socket.socket, question: bytes, budget: ProcessBudget) -> bytes | None:
    """Return the answer; None where the process ended without one, or is not done in time."""
    # The kernel ends the process in time; the margin is for one that is starting.
    gives_up = monotonic() + budget.seconds + 10
    try:
        process.settimeout(budget.seconds + 10)
        process.sendall(len(question).to_bytes(SIZE_BYTES, "big") + question)
        size = int.from_bytes(_receive(process, SIZE_BYTES, gives_up), "big")
        return _receive(process, size, gives_up) if 0 < size <= ANSWER_BYTES else None
    except (OSError, EOFError):
        return None


def _receive(process: socket.socket, size: int, gives_up: float) -> bytes:
    received = bytearray()
    while len(received) < size:
        process.settimeout(max(0.01, gives_up - monotonic()))
        if not (piece := process.recv(min(size - len(received), MIB))):
            raise EOFError
        received += piece
    return bytes(received)


def _serve(control: socket.socket) -> None:
    """Fork for each call until the other end is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # The kernel forgets those that have ended.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        name, descriptors, _, _ = socket.recv_fds(control, NAME_BYTES, 1)
        if not name:
            return
        with socket.socket(fileno=descriptors[0]) as caller:
            import_module(name.decode().strip())
            if os.fork() == 0:
                control.close()
                try:
                    _answer(caller)
                finally:
                    os._exit(0)


def _answer(caller: socket.socket) -> None:
    size = int.from_bytes(_receive(caller, SIZE_BYTES, monotonic() + 60), "big")
    budget, zone, function, arguments, named = pickle.loads(_receive(caller, size, monotonic() + 60))  # noqa: S301
    timezone.activate(zone)
    _limit(budget)
    try:
        answer = pickle.dumps((True, function(*arguments, **named)))
    except BigMindError as refusal:
        answer = pickle.dumps((False, refusal))
    except MemoryError:
        # An end without an answer is one: the caller refuses with the limits.
        return
    except Exception as error:  # noqa: BLE001 - the outermost loop of this process; its caller raises it
        answer = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}"[:1_000])))
    caller.sendall(len(answer).to_bytes(SIZE_BYTES, "big") + answer)


def _limit(budget: ProcessBudget) -> None:
    """Let the kernel end this process if it exceeds its budget, and prefer other processes."""
    resource.setrlimit(resource.RLIMIT_CPU, (budget.processor_seconds, budget.processor_seconds + 1))
    # A core file would hold what someone has uploaded.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_REAL, budget.seconds)
    os.nice(5)
    with suppress(OSError, ValueError):  # Memory is limited on Linux alone.
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = mapped + budget.megabytes * MIB
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "bigmind.settings"
    import django

    django.setup()
    # Not `__main__`: what is pickled names the module that the caller knows.
    from knowledge.parsers import separate_process

    separate_process._serve(socket.socket(fileno=int(sys.argv[1])))

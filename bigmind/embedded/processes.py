"""Processes that `bigmind up` starts and watches, their logs, and processes left behind by an earlier start."""

import contextlib
import ctypes
import faulthandler
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from bigmind.embedded.heartbeats import WEB, Pulse, PulseWatch
from bigmind.embedded.listeners import let_nobody_in

TAIL_BYTES = 8192
IS_FORKED = sys.platform == "linux"
"""Whether a child is a copy of this process, and not a new one: it shares our memory and starts in milliseconds.

Libraries of macOS do not survive that (decision 35).
"""

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
# Loaded here because after the fork of a threaded process only async-signal-safe work is allowed.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None

LOG_BYTES = 100 * 1024 * 1024
"""Beyond it a log is moved aside while its process runs. The one before is replaced, so a part has two at most."""

# How long the processes of a dead server may take to notice, before we end them.
NOTICE = 2.0


def rotate(log: Path) -> None:
    """Rename the log of the previous start to `<name>.log.1`."""
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))


def shorten(log: Path) -> None:
    """Move what a log has beyond its limit to `<name>.log.1`; the process goes on writing at its new end."""
    # What is written between the two steps is lost: better than a disk that is full of logs.
    with contextlib.suppress(OSError):
        if log.stat().st_size > LOG_BYTES:
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
            os.truncate(log, 0)


def last_lines(log: Path) -> str:
    """Return the last three non-empty lines of a log, joined for one sentence."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join([line.strip() for line in lines if line.strip()][-3:])


def die_with_parent(last_words: signal.Signals) -> Callable[[], None]:
    """Return a `preexec_fn` that makes Linux send `last_words` to the child when its parent dies.

    The kernel watches the *thread* that started the child, so start children from the main thread. Elsewhere than
    on Linux it does nothing; there the next start ends what was left behind.
    """
    parent = os.getpid()

    def tie() -> None:
        if _LIBC is None:
            return
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(last_words))
        # The parent may have died before the kernel received the request.
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return tie


def postmaster_of(folder: Path) -> psutil.Process | None:
    """Return the PostgreSQL server that runs on this data folder."""
    try:
        process = psutil.Process(int((folder / "postmaster.pid").read_text().split("\n", 1)[0]))
        return process if _works_on(process, folder) else None
    except (OSError, ValueError, psutil.Error):
        return None


def end_servers(folder: Path, *, patience: float = 10.0) -> None:
    """Stop every PostgreSQL process on this data folder, the server first and cleanly."""
    postmaster = postmaster_of(folder)
    for last_words, wait in ((signal.SIGINT, patience), (signal.SIGQUIT, NOTICE)):
        if postmaster is not None and postmaster.is_running():
            postmaster.send_signal(last_words)
            psutil.wait_procs([postmaster], timeout=wait)
    # Without their server the others end by themselves, except busy ones, which would keep the data in use.
    leftovers = [process for process in psutil.process_iter() if _works_on(process, folder)]
    _, deaf = psutil.wait_procs(leftovers, timeout=NOTICE)
    for process in deaf:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(deaf, timeout=NOTICE)


def end_process(pid: int, created: float) -> None:
    """Kill the process with this id if it was created then; a later process with the same id is not ours."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if abs(process.create_time() - created) < 1:
            process.kill()
            process.wait(NOTICE)


def _works_on(process: psutil.Process, folder: Path) -> bool:
    """PostgreSQL's processes run in their data folder, and under root nothing else tells them apart."""
    try:
        return process.name() == "postgres" and Path(process.cwd()).samefile(folder)
    except (psutil.Error, OSError):
        return False


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


class Copy:
    """A copy of this process that runs a function, as if it were a program of its own."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    @classmethod
    def begin(cls, name: str, work: Callable[[], object], log: int) -> "Copy":
        """Fork. Call it while this process has one thread and no connection to the database."""
        tie = die_with_parent(signal.SIGKILL)
        _flush()
        if pid := os.fork():
            return cls(pid)
        code = 1
        try:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.setsid()
            tie()
            if _LIBC is not None:
                _LIBC.prctl(_PR_SET_NAME, f"bigmind-{name}".encode()[:15])
            with Path(os.devnull).open() as nothing:
                os.dup2(nothing.fileno(), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            faulthandler.enable()
            work()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else bool(ended.code)
        except BaseException:  # noqa: BLE001 - the outermost loop of a process
            traceback.print_exc()
        finally:
            try:
                _flush()
            finally:
                # A copy must not run the exit handlers of our own process, or go on as a second supervisor.
                os._exit(code)

    def poll(self) -> int | None:
        """Return how it ended, as `subprocess` does; None while it runs."""
        if self._code is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                return -signal.SIGKILL
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code


class Child:
    """One process with its log. It can be started again any number of times.

    Attributes:
        work: The function that a copy of this process runs. None: it is started by its command.
        pulse: How it shows that it is healthy; without one, it is healthy as long as it runs.
        parts: Which parts of the pulse it counts.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        home: Path,
        sockets: Sequence[socket.socket] = (),
        *,
        work: Callable[[], object] | None = None,
        pulse: Path | None = None,
        parts: Sequence[int] = WEB,
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.log = home / "logs" / f"{name.partition('-')[0]}.log"
        self._record = home / "run" / f"{name}.json"
        self._sockets = sockets
        self._work = work if IS_FORKED else None
        self._pulse, self._parts = pulse, parts
        self._watch: PulseWatch | None = None
        self._process: subprocess.Popen[bytes] | Copy | None = None

    def start(self) -> None:
        """Start the process, detached from the terminal so that Ctrl-C reaches the supervisor alone."""
        if self._pulse is not None:
            self._watch = PulseWatch(Pulse.create(self._pulse), self._parts)
        with self.log.open("ab") as log:
            self._process = Copy.begin(self.name, self._work, log.fileno()) if self._work else self._run(log.fileno())
        created = psutil.Process(self._process.pid).create_time()
        with contextlib.suppress(OSError):  # The disk is full; only the next start would read it.
            self._record.write_text(json.dumps({"pid": self._process.pid, "created": created}))

    def _run(self, log: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own programs and arguments
            self.arguments,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[listener.fileno() for listener in self._sockets],
            preexec_fn=die_with_parent(signal.SIGKILL),
        )

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def is_at_work(self) -> bool:
        """Whether the process runs and has shown, since it started, that it is healthy."""
        return self.is_alive() and (self._watch is None or self._watch.has_begun)

    def symptom(self) -> str:
        """Say which part of a running process does not answer; empty when it is healthy."""
        return self._watch.symptom() if self._watch is not None else ""

    def abort(self) -> None:
        """End a process that does not answer; if it can, it first logs what each thread was doing."""
        self.end(signal.SIGABRT)
        give_up = time.monotonic() + NOTICE
        while self.is_alive() and time.monotonic() < give_up:
            time.sleep(0.05)
        self.end(signal.SIGKILL)

    def how_it_ended(self) -> str:
        """Say how the process ended, with the end of its log if it exited by itself."""
        code = self._process.poll() if self._process is not None else None
        if code is None or code < 0:
            return f"was ended by signal {-code}" if code else "has not started"
        return f"ended with exit code {code}: {last_lines(self.log)} (all of it: {self.log})"

    def stop_listening(self) -> None:
        """Stop accepting connections, and close our copies of its sockets: connected clients still get an answer."""
        for listener in self._sockets:
            let_nobody_in(listener)
            listener.close()

    def end(self, last_words: signal.Signals) -> None:
        """Send a signal to the process and to what it started."""
        if self.is_alive() and self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, last_words)

    def forget(self) -> None:
        """Remove the record of a process that has ended."""
        self._record.unlink(missing_ok=True)


def end_leftovers(home: Path) -> None:
    """Kill the children left by an earlier `bigmind up` that was itself killed."""
    for record in (home / "run").glob("*.json"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            left = json.loads(record.read_text())
            end_process(left["pid"], left["created"])
        record.unlink()


def end_together(children: Sequence[Child], patience: float, is_hurried: Callable[[], bool]) -> None:
    """Ask the processes to end. Kill those that are still running after `patience` seconds, or sooner when hurried."""
    for child in children:
        child.stop_listening()
    for child in children:
        child.end(signal.SIGTERM)
    give_up = time.monotonic() + patience
    while any(child.is_alive() for child in children) and time.monotonic() < give_up and not is_hurried():
        time.sleep(0.05)
    for child in children:
        child.end(signal.SIGKILL)
        child.forget()

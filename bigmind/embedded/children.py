"""A process that `bigmind up` starts and watches: the web server, the worker or the scheduler."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from bigmind.embedded.lifeline import die_with_parent
from bigmind.embedded.logs import last_lines
from bigmind.embedded.processes import end_process


class Child:
    """One process with its log. It can be started again any number of times."""

    def __init__(self, name: str, arguments: Sequence[str], home: Path, sockets: Sequence[socket.socket] = ()) -> None:
        self.name = name
        self.arguments = arguments
        self.log = home / "logs" / f"{name}.log"
        self._record = home / "run" / f"{name}.json"
        self._sockets = sockets
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, detached from the terminal so that Ctrl-C reaches the supervisor alone."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own programs and arguments
                self.arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[listener.fileno() for listener in self._sockets],
                preexec_fn=die_with_parent(signal.SIGKILL),
            )
        created = psutil.Process(self._process.pid).create_time()
        self._record.write_text(json.dumps({"pid": self._process.pid, "created": created}))

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def how_it_ended(self) -> str:
        """Say how the process ended; with the end of its log when it gave up by itself."""
        code = self._process.poll() if self._process is not None else None
        if code is None or code < 0:
            return f"was ended by signal {-code}" if code else "has not started"
        return f"ended with exit code {code}: {last_lines(self.log, 3)} (all of it: {self.log})"

    def stop_listening(self) -> None:
        """Close our copies of its sockets: while one is open, clients connect and wait for no answer."""
        for listener in self._sockets:
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
    """Kill the children of an earlier `bigmind up` that was killed and could not end them itself."""
    for record in (home / "run").glob("*.json"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            left = json.loads(record.read_text())
            end_process(left["pid"], left["created"])
        record.unlink()


def end_together(children: Sequence[Child], patience: float, is_hurried: Callable[[], bool]) -> None:
    """Ask the processes to end. Kill those that have not ended after `patience` seconds, or sooner when hurried."""
    for child in children:
        child.stop_listening()
        child.end(signal.SIGTERM)
    give_up = time.monotonic() + patience
    while any(child.is_alive() for child in children) and time.monotonic() < give_up and not is_hurried():
        time.sleep(0.05)
    for child in children:
        child.end(signal.SIGKILL)
        child.forget()

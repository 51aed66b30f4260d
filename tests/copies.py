"""Programs of BigMind that are copied from a process that has imported it, as `bigmind up` copies its own.

A program that starts from nothing imports for two seconds. A copy reads its own environment and settings, and begins.
That a program starts from nothing is tested where one does: `serving` starts one, and there is one for each command.
"""

import atexit
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from tests.serving import ROOT, Served, end_its_database_sessions, environment_of_a_server, wait_until_served

# A program for clients that start their server themselves: it hands its input and output to a copy, and ends with it.
RELAY = """
import json, os, socket, sys
template = socket.socket(socket.AF_UNIX)
template.connect(sys.argv[1])
socket.send_fds(template, [b"-"], [0, 1, 2])
template.sendall(json.dumps([sys.argv[2:], dict(os.environ)]).encode())
template.shutdown(socket.SHUT_WR)
for descriptor in range(3):
    os.close(descriptor)
os._exit(int(template.makefile().read().split()[1]))
"""


class Copied:
    """A copy that runs, as a `subprocess.Popen` does."""

    stdout: IO[str]

    def __init__(self, arguments: Sequence[str], environment: dict[str, str], files: list[int]) -> None:
        with socket.socket(socket.AF_UNIX) as template:
            template.connect(_template())
            socket.send_fds(template, [b"-"], files)
            template.sendall(json.dumps([arguments, environment]).encode())
            template.shutdown(socket.SHUT_WR)
            self._told: IO[str] = template.makefile()
        self.pid = int(self._told.readline())
        self.returncode: int | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()

    @classmethod
    def printing(cls, arguments: Sequence[str], environment: dict[str, str]) -> "Copied":
        """Begin one whose output can be read while it runs."""
        read, written = os.pipe()
        with Path(os.devnull).open() as nothing, os.fdopen(written, "wb") as output:
            copied = cls(arguments, environment, [nothing.fileno(), output.fileno(), output.fileno()])
        copied.stdout = os.fdopen(read)
        return copied

    def _wait(self) -> None:
        self.returncode = int(self._told.readline() or -signal.SIGKILL)
        self._ended.set()

    def wait(self, timeout: float = 60) -> int:
        """Wait for its end, and return how it ended."""
        assert self._ended.wait(timeout), "It did not end in time."
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, while it runs."""
        if not self._ended.is_set():
            with suppress(ProcessLookupError):  # It has ended, and we have not heard of it yet.
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """How it has ended; None while it runs."""
        return self.returncode


@contextmanager
def serving_copy(log: Path, **variables: str) -> Iterator[tuple[Served, Copied]]:
    """Run a web process with some variables set, and end it afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("w") as output:
        port = listener.getsockname()[1]
        served = Served(f"http://localhost:{port}", environment_of_a_server(port) | variables, log)
        process = Copied([], served.environment, [output.fileno()] * 3 + [listener.fileno()])
        try:
            wait_until_served(served, process)
            yield served, process
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def web_process(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """The web process of `bigmind up`, once for all tests."""
    with serving_copy(tmp_path_factory.mktemp("served") / "log.txt") as (served, _):
        yield served
    with django_db_blocker.unblock():
        end_its_database_sessions()
        connection.close()  # After tests in a browser it is another one than that of whoever drops the database.


@pytest.fixture
def served(web_process: Served, transactional_db: None) -> Served:
    """The running server. What a test stores through the ORM is committed, so the server sees it."""
    return web_process


def command_of_a_copy(*arguments: str) -> list[str]:
    """Return a program that does what `manage.py` does with these arguments."""
    return [sys.executable, "-I", "-S", "-c", RELAY, _template(), *arguments]


def run_copy(
    arguments: Sequence[str], environment: dict[str, str], said: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Do what `manage.py` does with these arguments, to its end."""
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)]
        files[0].write(said)
        for file in files:
            file.seek(0)
        status = Copied(arguments, environment, [file.fileno() for file in files]).wait(timeout=240)
        for file in files:
            file.seek(0)
        return subprocess.CompletedProcess(arguments, status, files[1].read(), files[2].read())


def run_in_copy(code: str, environment: dict[str, str]) -> str:
    """Run some Python in a process that has imported BigMind, and return what it prints."""
    done = run_copy(["shell", "--no-imports", "-c", code], environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def _template() -> str:
    """Return the address of the process that is copied, which lives as long as this one."""
    address = f"{os.environ['BIGMIND_HOME']}/copies-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as callers:
        callers.bind(address)
        callers.listen()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.copies", str(callers.fileno())],
            cwd=ROOT,
            env=environment_of_a_server(8000),
            stdin=subprocess.PIPE,
            pass_fds=[callers.fileno()],
        )
    atexit.register(process.kill)
    return address


def _serve_copies(callers: socket.socket) -> None:
    """Copy this process for everybody who asks, until the tests have ended."""
    import django

    from bigmind.embedded.preloading import NEEDS_NO_DATABASE

    django.setup()
    from bigmind.warming import load_ahead

    for name in (
        *NEEDS_NO_DATABASE,
        "bigmind.cli",
        "bigmind.management.commands.mcp",
        "bigmind.management.commands.up",
    ):
        importlib.import_module(name)
    load_ahead()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
    while True:
        with callers.accept()[0] as caller:
            _, files, _, _ = socket.recv_fds(caller, 1, 4)
            if os.fork() == 0:
                callers.close()
                _keep(caller, files)
            for descriptor in files:
                os.close(descriptor)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _keep(caller: socket.socket, files: list[int]) -> None:
    """Begin a program, and tell who asked for it which process that is, and how it ended."""
    arguments, environment = json.loads(caller.makefile().read())
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if (pid := os.fork()) == 0:
        caller.close()
        for number, descriptor in enumerate(files[:3]):
            os.dup2(descriptor, number)
            os.close(descriptor)
        _run(lambda: _program(arguments, environment, files[3:]))
    for descriptor in (*files, 0, 1, 2):
        os.close(descriptor)
    caller.sendall(f"{pid}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    caller.sendall(f"{code}\n".encode())
    os._exit(0)


def _run(program: Callable[[], object]) -> None:
    """Run it to its end, which is that of this process."""
    code: Any = 1
    try:
        program()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except BaseException:
        import traceback

        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _program(arguments: list[str], environment: dict[str, str], listeners: list[int]) -> None:
    import django
    from django.conf import settings
    from django.core.cache import caches
    from django.db import connections
    from django.utils.functional import empty

    from bigmind import environment as of_bigmind

    os.environ.clear()
    os.environ.update({"DJANGO_SETTINGS_MODULE": "bigmind.settings"} | environment)
    of_bigmind.environment.cache_clear()
    del sys.modules["bigmind.settings"]
    settings._wrapped = empty  # type: ignore[assignment]
    for handler in (caches, connections):
        vars(handler).clear()
        handler.__init__()  # type: ignore[misc]
    if arguments:
        from bigmind.cli import main

        sys.argv[1:] = arguments
        main()
    else:
        from bigmind.embedded.web import serve

        django.setup()  # Which writes a log as these settings say.
        serve(listeners)


if __name__ == "__main__":
    _serve_copies(socket.socket(fileno=int(sys.argv[1])))

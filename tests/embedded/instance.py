"""A whole BigMind as a person starts it: `bigmind up` in a process of its own, with what it printed."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import psutil

from tests.copies import Copied
from tests.prepared import copy_prepared_home

ROOT = Path(__file__).parents[2]
PARTS = {
    "bigmind-web": "web",
    "bigmind-web-1": "web-1",
    "bigmind-web-2": "web-2",
    "bigmind-worker": "worker",
    "bigmind-schedul": "scheduler",
    "postgres": "postgresql",
}
LAST_READY_LINE = "Ctrl-C stops it. The data stays."


class Instance:
    """One `bigmind up` on a home and a port of its own."""

    process: "subprocess.Popen[str] | Copied | None"

    def __init__(self, home: Path, port: int | None = None, **variables: str) -> None:
        self.home = home
        self.port = port or free_port()
        self.url = f"http://localhost:{self.port}"
        self.printed = ""
        self.environment = environment(home, BIGMIND_PORT=str(self.port), **variables)
        self.process = None
        self.program = [sys.executable, str(ROOT / "manage.py")]
        self.folder = ROOT

    @classmethod
    def prepare(cls, home: Path, port: int | None = None, **variables: str) -> "Instance":
        """Return one whose database is migrated already, for tests of something else than the first start."""
        copy_prepared_home(home)
        return cls(home, port, **variables)

    def launch(self) -> "Instance":
        """Start it and return at once."""
        self.process = subprocess.Popen(
            [*self.program, "up"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return self

    def start(self) -> "Instance":
        """Start it and return when it says that it is ready."""
        self.launch().read_until(LAST_READY_LINE)
        return self

    def read_until(self, words: str) -> str:
        """Read what it prints up to a line with these words."""
        for line in self.process.stdout:
            self.printed += line
            if words in line:
                return self.printed
        raise AssertionError(f"It ended without saying {words!r}:\n{self.printed}")

    def stop(self, last_words: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop and return its exit code."""
        self.process.send_signal(last_words)
        return self.finish()

    def hurry(self) -> None:
        """Stop it without waiting for its worker."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
            self.stop()

    def finish(self) -> int:
        """Return its exit code when it has ended."""
        self.printed += self.process.stdout.read()
        return self.process.wait(90)

    def processes(self) -> dict[str, psutil.Process]:
        """Return what it runs, by name."""
        found: dict[str, psutil.Process] = {}
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):  # What ends meanwhile has no name any more.
                found[_name(child)] = child
        return found

    def is_served(self) -> bool:
        """Whether /healthz answers."""
        try:
            return httpx.get(f"{self.url}/healthz", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    @property
    def key(self) -> str:
        """The key that it printed."""
        return re.search(r"bm_\w+", self.printed).group()


class CopiedInstance(Instance):
    """One that is copied from a process which has imported BigMind: what a start imports is not what is tested."""

    def launch(self) -> "CopiedInstance":
        """Start it and return at once."""
        self.process = Copied.printing(["up"], self.environment)
        return self


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the variables of a person's shell, with nothing of the tests in it."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("BIGMIND_", "DJANGO_"))}
    return {**ours, "BIGMIND_HOME": str(home), **variables}


def command(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run another `bigmind` command on a home to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(home, **variables),
        capture_output=True,
        text=True,
        timeout=240,
    )


def doctor(home: Path, **variables: str) -> dict[str, str]:
    """Return what the doctor finds: the status of each check."""
    checks = json.loads(command(home, "doctor", "--json", **variables).stdout)["checks"]
    return {check["name"]: check["status"] for check in checks}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return int(trial.getsockname()[1])


def eventually(claim: Callable[[], bool], within: float = 60.0) -> None:
    """Wait until a claim holds; a server that does not answer yet is no answer."""
    give_up = time.monotonic() + within
    while not _holds(claim):
        assert time.monotonic() < give_up, "It did not come true in time."
        time.sleep(0.1)


def _holds(claim: Callable[[], bool]) -> bool:
    try:
        return claim()
    except httpx.HTTPError:
        return False


def _name(process: psutil.Process) -> str:
    """Return the name that a part gave itself; the kernel keeps 15 letters of it."""
    given = process.name()
    return PARTS.get(given, given)

"""The running server, as `bigmind up` starts it, on the database of the tests."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest
from django.db import connection

from bigmind.embedded.home import prepare_home

ROOT = Path(__file__).parent.parent
STARTS_WITHIN = 120


@dataclass(frozen=True)
class Served:
    """A BigMind that answers over HTTP."""

    url: str
    environment: dict[str, str]
    log: Path

    @property
    def mcp(self) -> str:
        """The address of the MCP endpoint."""
        return f"{self.url}/mcp"


@contextmanager
def serving(log: Path, **variables: str) -> Iterator[tuple[Served, "subprocess.Popen[bytes]"]]:
    """Run the web process of `bigmind up` with some variables set, and end it afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("w") as output:
        port = listener.getsockname()[1]
        environment = {**environment_of_a_server(port), **variables}
        process = subprocess.Popen(
            [sys.executable, "-m", "bigmind.embedded.web", "", str(listener.fileno())],
            cwd=ROOT,
            env=environment,
            pass_fds=[listener.fileno()],
            stdout=output,
            stderr=output,
        )
        try:
            served = Served(f"http://localhost:{port}", environment, log)
            wait_until_served(served, process)
            yield served, process
        finally:
            process.terminate()
            process.wait(timeout=60)


def home_of_its_own(folder: Path) -> Path:
    """Make a BIGMIND_HOME with a queue of its own; the secret is that of the tests, so their keys hold there."""
    prepare_home(folder)
    shutil.copy(Path(os.environ["BIGMIND_HOME"]) / "secret_key", folder)
    return folder


def eventually(claim: Callable[[], bool], within: float = 5.0) -> bool:
    """Whether something becomes true soon: that a key is revoked is told, and the usage log is written in batches."""
    deadline = time.monotonic() + within
    while not (holds := claim()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds


def environment_of_a_server(port: int) -> dict[str, str]:
    """What the process inherits: the test's own home, and the address of the test's own database."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "bigmind.settings",
        "BIGMIND_DATABASE_URL": _address_of_the_test_database(),
        "BIGMIND_PORT": str(port),
        "BIGMIND_LOG_LEVEL": "WARNING",
    }


def _address_of_the_test_database() -> str:
    configured = urlsplit(os.environ["BIGMIND_DATABASE_URL"])
    return urlunsplit(configured._replace(path=f"/{connection.settings_dict['NAME']}"))


def end_its_database_sessions() -> None:
    """PostgreSQL takes a moment to notice that a client has gone, and the tests' database is dropped right now."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def wait_until_served(served: Served, process: Any) -> None:
    """Wait until a process answers: with `poll`, it says whether it has ended."""
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{served.url}/healthz", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    pytest.fail(f"The server did not start:\n{served.log.read_text()}")

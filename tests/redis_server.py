"""A Redis of the tests' own, which can be taken away, be silent, come back, and have forgotten everything."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Self

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tests.embedded.instance import free_port


class RedisServer:
    """One redis-server on a port of its own. It comes back empty, unless it `keeps` on disk what it holds."""

    def __init__(self, folder: Path, *, keeps: bool = False) -> None:
        self.folder = folder
        self.keeps = keeps
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and return when it answers."""
        program = shutil.which("redis-server")
        if program is None:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("Redis is missing: install redis-server.")
        kept = ["--save", "", "--appendonly", "yes" if self.keeps else "no", "--dir", str(self.folder)]
        self._process = subprocess.Popen([program, "--port", str(self.port), *kept], stdout=subprocess.DEVNULL)
        give_up = time.monotonic() + 10
        while not self._answers():
            assert time.monotonic() < give_up, "Redis did not start."
            time.sleep(0.05)

    def kill(self) -> None:
        """Take it away at once: its port is closed, and what it held is gone."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ask it to end, as a service manager does."""
        self._process.terminate()
        self._process.wait()

    def speak(self) -> None:
        """Let it answer again."""
        self._process.send_signal(signal.SIGCONT)

    def fall_silent(self) -> None:
        """Let it take what it is sent, and answer nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def _answers(self) -> bool:
        try:
            with Redis.from_url(self.url, socket_timeout=1) as client:
                return bool(client.ping())
        except RedisError:
            return False

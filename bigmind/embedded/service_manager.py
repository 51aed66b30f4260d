"""Reports the state of `bigmind up` to its supervisor: to systemd by a socket, to container probes by a file's age."""

import contextlib
import os
import socket
import time
from pathlib import Path

SAID_EVERY = 5.0


class ServiceManager:
    """The program that runs us, if it wants reports: without `NOTIFY_SOCKET` only the file is written.

    The protocol is that of sd_notify(3).
    """

    def __init__(self, alive: Path) -> None:
        self._alive = alive
        # Removed from the environment: only this process may report for the service.
        self._address = os.environ.pop("NOTIFY_SOCKET", "")
        self._said = 0.0

    def announce_ready(self) -> None:
        """Report that everything has started."""
        self._say("READY=1")

    def announce_stop(self) -> None:
        """Report that everything is about to stop, and remove the file that probes look at."""
        self._say("STOPPING=1")
        self._alive.unlink(missing_ok=True)

    def report(self, *, is_whole: bool) -> None:
        """Report every few seconds that the supervisor is working; keep the file, and fresh, while all parts work."""
        if time.monotonic() - self._said < SAID_EVERY:
            return
        self._said = time.monotonic()
        self._say("WATCHDOG=1")
        with contextlib.suppress(OSError):  # The disk is full: the probe sees an old file, as it should.
            if is_whole:
                self._alive.touch()
            else:
                self._alive.unlink(missing_ok=True)

    def _say(self, state: str) -> None:
        if not self._address:
            return
        # An address that begins with @ is in the abstract namespace, which begins with a zero byte.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        # A slow or missing listener is no reason to stop serving.
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
            sender.setblocking(False)
            sender.sendto(state.encode(), address)

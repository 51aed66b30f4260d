"""Tells whatever runs `bigmind up` how it is: systemd by its socket, the probes of a container by the age of a file."""

import contextlib
import os
import socket
import time
from pathlib import Path

SAID_EVERY = 5.0


class ServiceManager:
    """What runs us, as far as it wants to know: without `NOTIFY_SOCKET` only the file is written.

    The protocol is that of sd_notify(3).
    """

    def __init__(self, alive: Path) -> None:
        self._alive = alive
        # Taken out of the environment: of all processes only this one may speak for the service.
        self._address = os.environ.pop("NOTIFY_SOCKET", "")
        self._said = 0.0

    def announce_ready(self) -> None:
        """Say that everything has started."""
        self._say("READY=1")

    def announce_stop(self) -> None:
        """Say that everything is about to end, and let no probe take us for alive."""
        self._say("STOPPING=1")
        self._alive.unlink(missing_ok=True)

    def report(self, *, is_whole: bool) -> None:
        """Say every few seconds that the supervisor looks after its parts; touch the file while all of them run."""
        if time.monotonic() - self._said < SAID_EVERY:
            return
        self._said = time.monotonic()
        self._say("WATCHDOG=1")
        if is_whole:
            self._alive.touch()

    def _say(self, state: str) -> None:
        if not self._address:
            return
        # An address that begins with @ is in the abstract namespace, which begins with a zero byte.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        # Anyone who listens may be slow, or gone: that is no reason to stop serving.
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
            sender.setblocking(False)
            sender.sendto(state.encode(), address)

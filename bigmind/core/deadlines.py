"""A deadline for a whole exchange over the network: ordinary timeouts restart with each byte, so a trickle goes on."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from time import monotonic
from typing import Any


class Exchange:
    """A request and its response, with the time by which both have to be finished.

    Pass `notice` to httpx as the extension `trace`, so that this learns which connections to cut. A response that was
    cut can look complete: check `is_late` after the last byte.
    """

    def __init__(self, seconds: float) -> None:
        self._ends = monotonic() + seconds
        self._calls: list[socket.socket] = []

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return monotonic() > self._ends

    def notice(self, event: str, details: dict[str, Any]) -> None:
        """Remember a connection that was opened."""
        if event == "connection.connect_tcp.complete":
            # A handle of our own: TLS takes the other one over.
            self._calls.append(details["return_value"].get_extra_info("socket").dup())
            if self.is_late:
                self.hang_up()

    def hang_up(self) -> None:
        """Cut every connection, even while data is being transferred."""
        for call in list(self._calls):
            with suppress(OSError):
                call.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Release the connections."""
        for call in self._calls:
            call.close()


@contextmanager
def deadline(seconds: float) -> Iterator[Exchange]:
    """Hang up if the server has not finished in time: TLS, head and body together."""
    exchange = Exchange(seconds)
    timer = Timer(seconds, exchange.hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield exchange
    finally:
        timer.cancel()
        exchange.close()

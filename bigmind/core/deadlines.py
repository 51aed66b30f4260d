"""An end to a whole exchange over the network: time-outs count from each byte anew, and a trickle never meets one."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from time import monotonic
from typing import Any


class Exchange:
    """One question and its answer, with the time by which both have to be over.

    Hand `notice` to httpx as the extension `trace`: so the connections become known that have to be cut. Whoever was
    hung up on may look as if they had come to their end: ask `is_late` after the last byte.
    """

    def __init__(self, seconds: float) -> None:
        self._ends = monotonic() + seconds
        self._calls: list[socket.socket] = []

    @property
    def is_late(self) -> bool:
        """Whether it should be over by now."""
        return monotonic() > self._ends

    def notice(self, event: str, told: dict[str, Any]) -> None:
        """Keep hold of a connection that was made."""
        if event == "connection.connect_tcp.complete":
            # A handle of our own: TLS takes the other one over.
            self._calls.append(told["return_value"].get_extra_info("socket").dup())
            if self.is_late:
                self.hang_up()

    def hang_up(self) -> None:
        """Cut every connection, whatever is on its way."""
        for call in list(self._calls):
            with suppress(OSError):
                call.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the connections."""
        for call in self._calls:
            call.close()


@contextmanager
def deadline(seconds: float) -> Iterator[Exchange]:
    """Hang up on whoever has not answered to the end in time: head, body and TLS together."""
    exchange = Exchange(seconds)
    timer = Timer(seconds, exchange.hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield exchange
    finally:
        timer.cancel()
        exchange.close()

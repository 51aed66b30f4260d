"""Of a body that was refused, so much of what still comes is thrown away; then nothing more is read."""

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from bigmind.embedded.connections import Connections
from bigmind.embedded.web import IGNORED_BYTES, DeadlineProtocol

MIB = 1024 * 1024
PIECE = 32 * 1024
REFUSED = b"HTTP/1.1 401 "


class WatchedTransport(asyncio.Transport):
    """The transport of a client that goes on sending; it notes what becomes of it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 4711), "sockname": ("192.0.2.2", 80)})
        self.sent, self.is_paused, self.is_closed = b"", False, False

    def write(self, data: Any) -> None:
        """Keep what was answered."""
        self.sent += bytes(data)

    def write_eof(self) -> None:
        """Note nothing: the client goes on sending."""

    def pause_reading(self) -> None:
        """Read nothing more."""
        self.is_paused = True

    def resume_reading(self) -> None:
        """Read on."""
        self.is_paused = False

    def is_closing(self) -> bool:
        """Whether the connection has ended."""
        return self.is_closed

    def close(self) -> None:
        """End the connection."""
        self.is_closed = True

    def abort(self) -> None:
        """End the connection at once."""
        self.is_closed = True


async def refuse(scope: Any, receive: Any, send: Any) -> None:
    """Answer at once, and read nothing of the body."""
    await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def read_until_paused(head: bytes, piece: bytes, most: int) -> tuple[bytes, int, bool]:
    """Return what was answered, how many bytes of the body were taken after it, and whether reading was paused."""
    protocol = DeadlineProtocol(
        uvicorn.Config(refuse, log_config=None, lifespan="off"), ServerState(), {}, asyncio.get_running_loop()
    )
    protocol.counted = Connections(most=10, most_of_address=10, proxies=[])
    transport, taken = WatchedTransport(), 0
    protocol.connection_made(transport)
    protocol.data_received(b"POST / HTTP/1.1\r\nHost: a.example\r\n" + head + b"\r\n\r\n")
    while not transport.sent:
        await asyncio.sleep(0)
    while not transport.is_paused and taken < most:
        protocol.data_received(piece)
        await asyncio.sleep(0)
        taken += len(piece)
    answer, is_paused = transport.sent, transport.is_paused
    protocol.connection_lost(None)
    return answer, taken, is_paused


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"Content-Length: %d" % (200 * MIB), b"x" * PIECE),
        (b"Transfer-Encoding: chunked", b"%x\r\n%s\r\n" % (PIECE, b"x" * PIECE)),
    ],
    ids=["length", "chunks"],
)
def test_beyond_256_kib_of_a_refused_body_reading_is_paused(head: bytes, piece: bytes) -> None:
    answer, taken, is_paused = asyncio.run(read_until_paused(head, piece, most=4 * MIB))

    assert answer.startswith(REFUSED)
    assert is_paused
    assert IGNORED_BYTES == 256 * 1024
    assert IGNORED_BYTES < taken <= IGNORED_BYTES + len(piece)


def test_up_to_256_kib_of_a_refused_body_are_thrown_away() -> None:
    answer, _, is_paused = asyncio.run(
        read_until_paused(b"Content-Length: %d" % (200 * MIB), b"x" * PIECE, most=256 * 1024)
    )

    assert answer.startswith(REFUSED)
    assert not is_paused

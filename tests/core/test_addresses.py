"""Calling an address that somebody named: within the time that is given, however it answers."""

import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from bigmind.core.addresses import Refused, fetch


@pytest.fixture
def dribbling() -> Iterator[str]:
    """The address of a server that sends the head of its answer byte by byte, for ten seconds."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for byte in b"HTTP/1.1 200 OK\r\nX: ".ljust(100, b"x"):
                    try:
                        connection.send(bytes([byte]))
                    except OSError:
                        return
                    time.sleep(0.1)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


def test_whoever_answers_byte_by_byte_is_hung_up_on_in_time(dribbling: str) -> None:
    began = time.monotonic()

    with pytest.raises((httpx.HTTPError, Refused)):
        fetch(dribbling, most_bytes=1_000, seconds=1, may_be_private=True)

    assert time.monotonic() - began < 4

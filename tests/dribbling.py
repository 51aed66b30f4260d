"""A server that sends the head of its answer byte by byte: no single byte is ever late."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def dribbling() -> Iterator[str]:
    """Yield the address of a server that goes on so for ten seconds, with everybody who asks."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                for byte in b"HTTP/1.1 200 OK\r\nX: ".ljust(100, b"x"):
                    connection.send(bytes([byte]))
                    time.sleep(0.1)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=server.accept()[:1], daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"

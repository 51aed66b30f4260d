"""A server of HTTP on this machine, in place of one that belongs to others."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@contextmanager
def serve_http(handler: type[BaseHTTPRequestHandler], *, port: int = 0) -> Iterator[ThreadingHTTPServer]:
    """Answer requests with a handler, on a free port unless one is named, until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()

"""A BigMind that only hears hooks: it keeps what it was sent, and answers as a test tells it to."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.local_server import serve_http


class HookServer:
    """What was sent, and what is answered.

    Attributes:
        heard: Path, Authorization header and body of each event, in order.
        exchanges: The bodies of requests that fetch triggers, which a start sends as well.
    """

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, dict[str, Any]]] = []
        self.exchanges: list[dict[str, Any]] = []
        self.status = 200
        self.reply: object = {}
        self.seconds = 0.0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def events(self) -> list[dict[str, Any]]:
        return [body for _, _, body in self.heard]

    @contextmanager
    def listen(self, port: int = 0) -> Iterator["HookServer"]:
        """Answer for as long as the block lasts."""
        told = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                time.sleep(told.seconds)
                if body.get("hook_event_name") == "Triggers":
                    told.exchanges.append(body)
                else:
                    told.heard.append((self.path, self.headers["Authorization"], body))
                reply = told.reply.encode() if isinstance(told.reply, str) else json.dumps(told.reply).encode()
                with suppress(BrokenPipeError, ConnectionResetError):  # it had no time to wait
                    self.send_response(told.status)
                    self.send_header("Content-Length", str(len(reply)))
                    self.end_headers()
                    self.wfile.write(reply)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        with serve_http(Handler, port=port) as server:
            self.port = server.server_port
            yield self

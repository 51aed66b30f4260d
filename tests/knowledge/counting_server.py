"""A web API on this machine that a connector asks: it answers as a test says, counts, and can fail."""

import json
from collections import Counter, deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar, Self

Json = dict[str, Any]


@dataclass
class Answer:
    """One answer in place of the usual one."""

    status: int = 200
    body: str = '{"message": "trouble", "status": 500}'
    headers: dict[str, str] = field(default_factory=dict)


class CountingServer:
    """A real HTTP server. `calls` counts what it was asked; `answers` stand in place of the usual ones."""

    prefix: ClassVar[str] = "/"

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.answers: deque[Answer] = deque()

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, method: str, path: str, headers: dict[str, str], body: Json) -> tuple[int, Json]:
        """Answer one request as the published API does."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(server: CountingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.headers.append(headers)
            if server.answers:
                self._send(server.answers.popleft())
                return
            if not self.path.startswith(server.prefix):
                self._send(Answer(404, "<html>Not here</html>", {"Content-Type": "text/html"}))
                return
            path = self.path.removeprefix(server.prefix)
            status, told = server.answer(self.command, path, headers, json.loads(body or "{}"))
            self._send(Answer(status, json.dumps(told)))

        do_POST = do_PUT = do_GET

        def _send(self, answer: Answer) -> None:
            body = answer.body.encode()
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *message: object) -> None: ...

    return Handler

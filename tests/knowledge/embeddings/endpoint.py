"""An embedding endpoint on this machine that does what a test tells it to, right or wrong."""

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self

Table = Sequence[Sequence[float | None]]


@dataclass
class Answer:
    """One answer: a table of vectors, or a status; `indexes` say which vector belongs to which text."""

    vectors: Callable[[list[str]], Table] = lambda texts: [[float(len(text) + 1), 1.0, 0.0] for text in texts]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    indexes: Callable[[int], Sequence[int]] = range
    body: str = ""
    delay: float = 0.0
    is_silent: bool = False


class Endpoint:
    """A real HTTP server. It gives the queued answers in turn, then its usual one, and remembers what it was asked."""

    def __init__(self, usual: Answer | None = None) -> None:
        self.answers: deque[Answer] = deque()
        self.usual = usual or Answer()
        self.requests: list[dict[str, Any]] = []
        self.ended = Event()
        self._port = 0

    @property
    def url(self) -> str:
        """What BIGMIND_EMBEDDING_URL would be."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.close()

    def open(self) -> None:
        """Listen, on the same port as before."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), self._manners())
        self._port = self._server.server_port
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        """Listen no more: who asks now is refused by the system."""
        self._server.shutdown()
        self._server.server_close()

    def _manners(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Manners(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append({**asked, "path": self.path, "key": self.headers["Authorization"]})
                answer = endpoint.answers.popleft() if endpoint.answers else endpoint.usual
                if answer.is_silent:
                    endpoint.ended.wait(10)
                else:
                    endpoint.ended.wait(answer.delay)
                    self._send(answer, asked["input"])

            def _send(self, answer: Answer, texts: list[str]) -> None:
                body = (answer.body or _embeddings(answer, texts)).encode()
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *message: object) -> None: ...

        return Manners


def _embeddings(answer: Answer, texts: list[str]) -> str:
    vectors = answer.vectors(texts)
    items = [
        {"object": "embedding", "index": index, "embedding": list(vectors[place])}
        for place, index in enumerate(answer.indexes(len(vectors)))
    ]
    return json.dumps({"object": "list", "data": items, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}})

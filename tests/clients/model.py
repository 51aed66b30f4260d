"""A stand-in for a model's API, so that real clients run offline: it plays a script and keeps every request."""

import json
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any, Self
from uuid import uuid4

from tests.clients.dialects import (
    AnthropicMessages,
    Dialect,
    GeminiContents,
    ModelRequest,
    OpenAIChat,
    OpenAIResponses,
    Step,
)

ANTHROPIC, RESPONSES, GEMINI, CHAT = AnthropicMessages(), OpenAIResponses(), GeminiContents(), OpenAIChat()


class ModelStandIn:
    """A real HTTP server that stands in for a model.

    In each conversation it takes the steps of its script one after the other, and says “done” when there are none left.
    It counts the steps in what the client sends, so that a conversation which is resumed goes on where it was.
    """

    def __init__(self) -> None:
        self.script: Sequence[Step] = ()
        self.requests: list[ModelRequest] = []
        self.unknown: list[str] = []
        # As with a real model, no two conversations have calls of the same id.
        self._ids = (f"{uuid4().hex[:8]}{number:04}" for number in count(1))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    @property
    def url(self) -> str:
        """What a client takes for the address of its model."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def play(self, *script: Step) -> None:
        """Take these steps from now on, in each conversation anew, and forget what was shown so far."""
        self.script = script
        self.requests.clear()

    @property
    def first(self) -> ModelRequest:
        """The first request of the conversation: what the model knew before it called anything."""
        return next(request for request in self.requests if request.tools)

    @property
    def last(self) -> ModelRequest:
        """The request of the longest conversation, which has all results."""
        return max(self.requests, key=lambda request: (len(request.calls), len(request.results)))

    def reply(self, dialect: Dialect, body: dict[str, Any], *, stream: bool) -> bytes:
        """Keep the request, and return the reply that takes the next step."""
        request = dialect.read(body)
        self.requests.append(request)
        step = self.script[request.taken] if request.taken < len(self.script) and request.tools else Step()
        step = step.after(request.results)
        tool = request.tool_for(step.tool) if step.tool else None
        if step.tool and tool is None:
            step = Step(words=f"There is no tool {step.tool}.")
        return dialect.answer(body, step, tool, unique=next(self._ids), stream=stream)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Say nothing on the tests' output."""

            def do_HEAD(self) -> None:
                self._send(b"")

            def do_GET(self) -> None:
                self._send(b'{"object": "list", "data": [], "models": []}')

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
                path = self.path.partition("?")[0]
                stream = bool(body.get("stream")) or "stream" in path
                if path.endswith("/count_tokens"):
                    self._send(json.dumps({"input_tokens": len(json.dumps(body)) // 4}).encode())
                elif (dialect := _dialect_at(path)) is not None:
                    self._send(model.reply(dialect, body, stream=stream), stream=stream)
                else:
                    model.unknown.append(path)
                    self._send(b"{}")

            def _send(self, data: bytes, *, stream: bool = False) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if stream else "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

        return Handler


def _dialect_at(path: str) -> Dialect | None:
    if path.endswith("/messages"):
        return ANTHROPIC
    if path.endswith("/responses"):
        return RESPONSES
    if path.endswith("/chat/completions"):
        return CHAT
    return GEMINI if path.endswith((":generateContent", ":streamGenerateContent")) else None

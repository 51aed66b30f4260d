"""A collector of traces: a web server on this machine that keeps the spans it is sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from gzip import decompress
from http.server import BaseHTTPRequestHandler
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.local_server import serve_http


@dataclass(frozen=True)
class Span:
    """A span as it arrived."""

    name: str
    trace: bytes
    id: bytes
    parent: bytes
    attributes: dict[str, str]
    service: str
    raw: str


@dataclass
class Collector:
    """What has arrived, and where to send more."""

    url: str
    spans: list[Span] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        """Keep the spans of one request."""
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = _attributes(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_span(span, service) for span in scope.spans]

    def named(self, name: str) -> list[Span]:
        """Return the spans whose names contain this."""
        return [span for span in self.spans if name in span.name]


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.take(decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with serve_http(Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}")
        yield collector


def _span(span: Any, service: str) -> Span:
    return Span(
        span.name,
        span.trace_id,
        span.span_id,
        span.parent_span_id,
        _attributes(span.attributes),
        service,
        str(span),
    )


def _attributes(pairs: Any) -> dict[str, str]:
    return {pair.key: pair.value.string_value or str(pair.value.int_value) for pair in pairs}

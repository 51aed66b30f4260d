"""Sending traces to a collector (OpenTelemetry): loaded only where one is configured."""

import os
from collections.abc import Sequence
from typing import Any

import structlog
from celery.signals import task_prerun
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Status

from bigmind import __version__
from bigmind.core.tracing import current_request_id, describe, trace_with
from bigmind.observability.logging import mask

KEPT_OF_ERRORS = {"exception.type"}

log = structlog.get_logger()


class DiscreetExporter(SpanExporter):
    """Exports spans without the messages of errors: those of a database may quote the row that it refused."""

    def __init__(self, to: SpanExporter) -> None:
        self._to = to

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans."""
        return self._to.export([_discreet(span) for span in spans])

    def shutdown(self) -> None:
        """Stop exporting."""
        self._to.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Export what is waiting."""
        return self._to.force_flush(timeout_millis)


def start_tracing(endpoint: str) -> TracerProvider:
    """Send spans of requests, operations, statements and tasks to a collector that speaks OTLP over HTTP.

    Args:
        endpoint: Its address without `/v1/traces`; empty leaves it to the variables of OpenTelemetry.
    """
    os.environ.setdefault("OTEL_SERVICE_NAME", "bigmind")
    address = f"{endpoint.rstrip('/')}/v1/traces" if endpoint else None
    provider = TracerProvider(resource=Resource.create({"service.version": __version__}))
    provider.add_span_processor(BatchSpanProcessor(DiscreetExporter(OTLPSpanExporter(endpoint=address))))
    trace.set_tracer_provider(provider)
    trace_with(provider.get_tracer("bigmind", __version__))
    # SQL without its parameters: those are the memories of users.
    PsycopgInstrumentor().instrument(tracer_provider=provider, capture_parameters=False)
    CeleryInstrumentor().instrument(tracer_provider=provider)  # type: ignore[no-untyped-call]
    # After Celery's own, which opens the span.
    task_prerun.connect(_name_the_request, dispatch_uid="bigmind.observability.tracing")
    return provider


def flush_traces() -> None:
    """Export what is waiting, before the process ends."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, TracerProvider):
        provider.force_flush(5_000)


def _name_the_request(**_: Any) -> None:
    describe(trace.get_current_span(), request_id=current_request_id())


def _discreet(span: ReadableSpan) -> ReadableSpan:
    return ReadableSpan(
        # The MCP SDK names the requested tool or address, and a mistaken one may contain a key.
        name=mask(span.name),
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=mask(span.attributes or {}),
        events=[Event(event.name, _kind_of(event), event.timestamp) for event in span.events],
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _kind_of(event: Event) -> dict[str, Any]:
    return {name: value for name, value in (event.attributes or {}).items() if name in KEPT_OF_ERRORS}

"""Tracing: spans around requests, operations and tasks, where a collector is configured. Otherwise nothing is loaded.

A span names the route, operation or task, its outcome, and the id of the request: never what was sent, stored or
replied, and no address.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from structlog.contextvars import get_contextvars

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Value = str | int | float | bool


class _Tracing:
    """The tracer; None until `bigmind.observability.tracing` sets one up."""

    tracer: "Tracer | None" = None


def trace_with(tracer: "Tracer") -> None:
    """Create spans with this tracer from now on."""
    _Tracing.tracer = tracer


def span(name: str, **attributes: Value) -> "AbstractContextManager[Span | None]":
    """Return a span inside the current one; a context of None where no collector is configured."""
    tracer = _Tracing.tracer
    if tracer is None:
        return nullcontext()
    # The exception is not recorded: its message may quote what was sent.
    return tracer.start_as_current_span(
        name, attributes=_prefix_names(attributes), record_exception=False, set_status_on_exception=False
    )


def current_request_id() -> str:
    """Return the id of the request this thread is serving, or an empty text."""
    return str(get_contextvars().get("request_id", ""))


def request_span(headers: Mapping[str, str]) -> "AbstractContextManager[Span | None]":
    """Return the span of a whole request, within the one that the caller names in `traceparent`."""
    tracer = _Tracing.tracer
    if tracer is None:
        return nullcontext()
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind

    context = extract({"traceparent": headers.get("traceparent", "")})
    return tracer.start_as_current_span(
        "request", context, SpanKind.SERVER, record_exception=False, set_status_on_exception=False
    )


def describe(span: "Span | None", *, failed: bool = False, name: str = "", **attributes: Value) -> None:
    """Add to a span what is known at its end: outcome, attributes, a better name."""
    if span is None:
        return
    if name:
        span.update_name(name)
    span.set_attributes(_prefix_names(attributes))
    if failed:
        from opentelemetry.trace import StatusCode

        span.set_status(StatusCode.ERROR)


def _prefix_names(attributes: Mapping[str, Value]) -> dict[str, Value]:
    return {f"bigmind.{name}": value for name, value in attributes.items()}

"""Structured logs: one line an event, with the id of the request it belongs to, which the response has as well."""

import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import structlog
from structlog.contextvars import bind_contextvars, clear_contextvars

from bigmind.observability.outages import FoldOutages, mark_outage

HEADER = "X-Request-Id"
_ACCEPTABLE = re.compile(r"[\w.-]{8,64}")
_KEY = re.compile(r"bm[arc]?_[0-9A-Za-z]{9,}")

_TOLD: ContextVar[bool] = ContextVar("told", default=False)

MASK = "…"
NO_ROUTE = "(none)"
MINUTE = 60
MOST_OF_A_KIND = 20
MOST_KINDS = 1_000
# Keys and tokens of BigMind, passwords in addresses, what follows “Bearer”, and what is named a secret. No line
# should hold any of it: this is for the libraries whose lines we do not write, and for the words of errors.
_SECRET = re.compile(
    r"""\bbm[arc]?_[0-9A-Za-z]{9,}
    | (?<=://)[^/\s:@]*:[^/\s@]+(?=@)
    | (?<=bearer[ ])[^\s"',]+
    | (?<![\w-])(?:password|passwd|secret|token|authorization|api[_-]?key)["']?\s*[=:]\s*
      (?:["'][^"']*["']|[^\s,;&]+)""",
    re.IGNORECASE | re.VERBOSE,
)
# After its first line the database quotes the row that it refused, or the statement with its values.
_QUOTED_ROW = re.compile(
    r"(?:\n|\\n)[ |]*(?:DETAIL|CONTEXT|LINE [0-9]+): .*?(?=\n\n(?:The above|During handling)|\nTraceback \(|\Z)",
    re.DOTALL,
)


def begin_request(offered: str = "") -> str:
    """Start a request and return its id: the one that the caller sent if it is harmless, else a new one.

    The id is stored, logged and traced. So a key that was sent in the wrong header must never become one.
    """
    is_kept = _ACCEPTABLE.fullmatch(offered) and not _KEY.search(offered)
    request_id = offered if is_kept else secrets.token_hex(8)
    clear_contextvars()
    _TOLD.set(False)
    bind_contextvars(request_id=request_id)
    return request_id


def tell_once() -> None:
    """Record that this request has been logged."""
    _TOLD.set(True)


def is_told() -> bool:
    """Whether this request has been logged."""
    return _TOLD.get()


class RoutesForPaths(logging.Filter):
    """Replaces the path in Django's lines by the route: the path of an invitation is as good as a password.

    Of an answer without an exception `RequestIdMiddleware` writes more.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the path by the route, and return whether the line is about an exception."""
        request = getattr(record, "request", None)
        if isinstance(record.args, tuple) and request is not None:
            match = getattr(request, "resolver_match", None)
            route = match.route if match else NO_ROUTE
            record.args = tuple(route if argument == request.path else argument for argument in record.args)
        return bool(record.exc_info)


class FewOfAKind(logging.Filter):
    """Writes 20 lines of one kind a minute, then how many were dropped: a flood must not fill the disk.

    Of a kind are lines of one logger with the same words, which are ours; what they are about, a client chooses. The
    tasks of the worker come from nobody outside: each is written.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Count the line, and return whether to write it."""
        if record.name.startswith("celery."):
            return True
        is_ours = isinstance(record.msg, dict)
        kind = record.name, str(record.msg["event"] if is_ours else record.msg)  # type: ignore[index]
        begun, count = self._kinds.get(kind, (record.created, 0))
        if record.created - begun >= MINUTE:
            if count > MOST_OF_A_KIND:
                _add(record, f"{count - MOST_OF_A_KIND} like it were left out.")
            begun, count = record.created, 0
        elif count + 1 == MOST_OF_A_KIND:
            _add(record, "More like it are left out for a minute.")
        if kind in self._kinds or len(self._kinds) < MOST_KINDS:
            self._kinds[kind] = begun, count + 1
        return count < MOST_OF_A_KIND


def _add(record: logging.LogRecord, words: str) -> None:
    if isinstance(record.msg, dict):
        record.msg = {**record.msg, "note": words}
    else:
        record.msg, record.args = f"{record.getMessage()} ({words})", ()


def without_secrets(_logger: object, _method: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
    """Remove keys, tokens, passwords and rows that the database quotes from a line before it is written."""
    return {name: mask(value) for name, value in event.items()}


def mask(value: Any) -> Any:
    """Return a value without the keys, tokens and passwords in its texts, nor the rows that the database quotes."""
    if isinstance(value, str):
        return _mask_text(value)
    if isinstance(value, Mapping):
        return {name: mask(each) for name, each in value.items()}
    if isinstance(value, Sequence):
        return [mask(each) for each in value]
    return value if value is None or isinstance(value, int | float) else _mask_text(str(value))


def _mask_text(text: str) -> str:
    return _SECRET.sub(MASK, _QUOTED_ROW.sub(f" {MASK}", text))


def logging_configuration(*, level: str, as_json: bool) -> dict[str, Any]:
    """Return the `LOGGING` setting: every logger writes to standard error, as text or as JSON.

    What was stored is never logged: events carry names and ids only.
    """
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"structured": _formatter(as_json=as_json)},
        "filters": {"routes": {"()": RoutesForPaths}, "outages": {"()": FoldOutages}, "few": {"()": FewOfAKind}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "structured", "filters": ["outages", "few"]},
            "nowhere": {"class": "logging.NullHandler"},
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": _QUIETER,
    }


_SHARED: tuple[structlog.types.Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    mark_outage,
    structlog.processors.format_exc_info,
)
_QUIETER = {
    "httpx": {"level": "WARNING"},
    "mcp": {"level": "WARNING"},
    "django.request": {"filters": ["routes"]},
    # It warns that the file broker of the embedded default has no host name.
    "kombu.connection": {"level": "ERROR"},
    "django.security.DisallowedHost": {"handlers": ["nowhere"], "propagate": False},
    # It would log the path, and that of a sign-in link is as good as a password.
    "django.security.csrf": {"handlers": ["nowhere"], "propagate": False},
}


def _formatter(*, as_json: bool) -> dict[str, Any]:
    """Return the formatter, for our lines and those of libraries alike."""
    renderer = structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    remove_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": _SHARED,
        "processors": [remove_meta, without_secrets, renderer],
    }

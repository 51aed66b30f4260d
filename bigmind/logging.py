"""Structured logs: one line an event, with the id of the request it belongs to."""

from typing import Any

import structlog


def logging_configuration(*, level: str, as_json: bool) -> dict[str, Any]:
    """Return the `LOGGING` setting: every logger writes to standard error, as text or as JSON.

    What was stored is never logged: events carry names and ids only.
    """
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer = structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": shared,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"structured": formatter},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "structured"},
            "nowhere": {"class": "logging.NullHandler"},
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "httpx": {"level": "WARNING"},
            "mcp": {"level": "WARNING"},
            # It warns that the file broker of the embedded default has no host name.
            "kombu.connection": {"level": "ERROR"},
            "django.security.DisallowedHost": {"handlers": ["nowhere"], "propagate": False},
            # It would log the path, and that of a sign-in link is as good as a password.
            "django.security.csrf": {"handlers": ["nowhere"], "propagate": False},
        },
    }

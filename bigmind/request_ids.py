"""One id for a request, the same in the response, the log, the usage record and the error page."""

import re
import secrets

from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

HEADER = "X-Request-Id"
_ACCEPTABLE = re.compile(r"[\w.-]{8,64}")


def begin_request(offered: str = "") -> str:
    """Start a request: keep the caller's id if it is a plain one, else make one; return it."""
    request_id = offered if _ACCEPTABLE.fullmatch(offered) else secrets.token_hex(8)
    clear_contextvars()
    bind_contextvars(request_id=request_id)
    return request_id


def current_request_id() -> str:
    """Return the id of the request this thread is serving, or an empty text."""
    return str(get_contextvars().get("request_id", ""))

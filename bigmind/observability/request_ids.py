"""The id of a request: the same one in the response, the log, the usage record and the error page."""

import re
import secrets
from contextvars import ContextVar

from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

HEADER = "X-Request-Id"
_ACCEPTABLE = re.compile(r"[\w.-]{8,64}")
_KEY = re.compile(r"bm[arc]?_[0-9A-Za-z]{9,}")

_TOLD: ContextVar[bool] = ContextVar("told", default=False)


def begin_request(offered: str = "") -> str:
    """Start a request and return its id: the caller's, if it is harmless, or a new one.

    The id is stored, logged and traced. So a key that was sent in the wrong header must never become one.
    """
    is_kept = _ACCEPTABLE.fullmatch(offered) and not _KEY.search(offered)
    request_id = offered if is_kept else secrets.token_hex(8)
    clear_contextvars()
    _TOLD.set(False)
    bind_contextvars(request_id=request_id)
    return request_id


def current_request_id() -> str:
    """Return the id of the request this thread is serving, or an empty text."""
    return str(get_contextvars().get("request_id", ""))


def tell_once() -> None:
    """Note that the log has a line about this request already."""
    _TOLD.set(True)


def is_told() -> bool:
    """Whether the log has a line about this request already."""
    return _TOLD.get()

"""Refusals as REST tells them: RFC 9457 problem+json, translated once from whatever went wrong."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import DisallowedHost, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.views import defaults
from psycopg.errors import QueryCanceled
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    MethodNotAllowed,
    NotAcceptable,
    NotAuthenticated,
    ParseError,
    UnsupportedMediaType,
)

from accounts.authentication import CHALLENGE
from bigmind.core.errors import BigMindError, Conflict, Forbidden, Invalid, NotFound, ReadOnly, TooMany
from bigmind.core.full_disk import is_disk_full
from bigmind.core.metrics import DATABASE_ERRORS
from bigmind.core.tracing import current_request_id
from bigmind.database.read_only import is_refused_write
from bigmind.observability.health import is_full_disk_behind
from bigmind.observability.logging import tell_once
from bigmind.views import errors
from bigmind.web.pages import is_for_programs

CONTENT_TYPE = "application/problem+json"
RETRY_SECONDS = 5

TITLES: dict[str, str] = {
    "malformed": "The request cannot be read",
    "misdirected": "BigMind has another address",
    "unauthorized": "A key is needed",
    "forbidden": "Not allowed",
    "not_found": "Not found",
    "no_route": "There is no such route",
    "method_not_allowed": "The route has other methods",
    "not_acceptable": "Replies are JSON",
    "conflict": "In conflict with what is stored",
    "precondition_failed": "It has changed since you read it",
    "too_large": "The request is too large",
    "unsupported_media_type": "Requests are JSON",
    "invalid": "Some arguments cannot be accepted",
    "too_many": "Too many requests",
    "read_only": "BigMind is read-only just now",
    "internal": "Something broke on our side",
    "unavailable": "The database does not answer",
}
"""Every kind of problem: the last part of its `type`, and its `title`."""

STATUSES: dict[type[BigMindError], int] = {
    Invalid: 422,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    TooMany: 429,
    ReadOnly: 503,
}
KEYS_HINT = (
    "Send the header `Authorization: Bearer bm_…`. The page “Keys” makes a key, and so does `bigmind key_create`."
)

log = structlog.get_logger()


class MalformedBody(ParseError):
    """What was sent is not the JSON it should be; `problems` names the part that is wrong, where there is one."""

    def __init__(self, detail: str, *, problems: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(detail)
        self.problems = list(problems)


class TooLarge(APIException):
    """The body is larger than the route takes."""

    status_code = 413


class StaleCopy(APIException):
    """`If-Match` or `If-None-Match` does not hold."""

    status_code = 412


def is_rest(request: HttpRequest) -> bool:
    """Whether a request comes from a program with a key: it is refused with a problem, and not with a page."""
    return is_for_programs(request.path_info)


def problem(
    status: int,
    kind: str,
    detail: str,
    *,
    hint: str = "",
    errors: Sequence[Mapping[str, Any]] | None = None,
    headers: Mapping[str, str] | None = None,
    details: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Return a problem document as a response.

    Args:
        kind: A name from `TITLES`.
        errors: What is wrong, field by field.
        details: Facts that a program can use, as further members of the document.
    """
    document = {
        **(details or {}),
        "type": f"{settings.PUBLIC_URL}/api/#{kind}",
        "title": TITLES[kind],
        "status": status,
        "detail": detail,
        "hint": hint,
        "request_id": current_request_id(),
    }
    if errors is not None:
        document["errors"] = list(errors)
    # ASCII only: a refusal may quote what was sent, and that may be text no encoding can hold.
    return HttpResponse(json.dumps(document, default=str), CONTENT_TYPE, status, headers=dict(headers or {}))


def problem_response(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """Translate an error of a view (Django REST framework calls this for every one)."""
    return problem_of(error)


def problem_of(error: Exception) -> HttpResponse:
    """Translate any error into a problem. Unexpected ones are logged, and answered without details."""
    if isinstance(error, BigMindError):
        return _problem_of(error)
    if is_refused_write(error):
        return _problem_of(ReadOnly())
    if isinstance(error, APIException):
        return _framework(error)
    if isinstance(error, OperationalError | InterfaceError) or is_disk_full(error):
        return _database_away(error)
    if isinstance(error, DataError):
        log.error("A value passed validation that the database cannot hold.", exc_info=error)
        return problem(422, "invalid", "A value that was sent is outside of what can be stored.", errors=[])
    if isinstance(error, Http404):
        return problem(404, "no_route", "There is no such route.", hint="The page /api/ lists the routes.")
    if isinstance(error, PermissionDenied):
        return problem(403, "forbidden", "This is not allowed.")
    if isinstance(error, SuspiciousOperation):
        return _suspicious(error)
    log.error("A request failed.", exc_info=error)
    hint = "Try again in a minute. The log of BigMind says more under this request id."
    return problem(500, "internal", "The request failed, and it is not your fault.", hint=hint)


def _problem_of(error: BigMindError) -> HttpResponse:
    status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
    return problem(
        status,
        error.code,
        error.message,
        hint=error.hint,
        errors=error.problems if isinstance(error, Invalid) else None,
        headers=_headers(error),
        details=error.details,
    )


def _headers(error: BigMindError) -> dict[str, str]:
    """Say in a header when to come back, or which scope is wanted (RFC 6750)."""
    if isinstance(error, TooMany | ReadOnly):
        return {"Retry-After": str(error.retry_after)}
    if isinstance(error, Forbidden) and "scope" in error.details:
        return {"WWW-Authenticate": f'{CHALLENGE}, error="insufficient_scope", scope="{error.details["scope"]}"'}
    return {}


def _framework(error: APIException) -> HttpResponse:
    kind, hint = _KINDS.get(type(error), ("malformed", ""))
    challenge: str = getattr(error, "auth_header", "")
    return problem(
        error.status_code,
        kind,
        str(error.detail),
        hint=hint,
        errors=error.problems if isinstance(error, MalformedBody) and error.problems else None,
        headers={"WWW-Authenticate": challenge} if challenge else None,
    )


_KINDS: dict[type[APIException], tuple[str, str]] = {
    ParseError: ("malformed", ""),
    MalformedBody: ("malformed", "Send one JSON object in UTF-8, with each name once."),
    NotAuthenticated: ("unauthorized", KEYS_HINT),
    AuthenticationFailed: ("unauthorized", KEYS_HINT),
    MethodNotAllowed: ("method_not_allowed", "The header Allow names the methods of this route."),
    NotAcceptable: ("not_acceptable", "Send `Accept: application/json`, or no Accept header."),
    UnsupportedMediaType: ("unsupported_media_type", "Send `Content-Type: application/json`."),
    TooLarge: ("too_large", "Send it in several parts."),
    StaleCopy: ("precondition_failed", "Read it again, and repeat your change on what you then see."),
}


DISK_FULL = "BigMind's disk is full, so nothing can be stored."
DISK_FULL_HINT = "Free some space, or tell an admin; it goes on by itself within seconds. `bigmind doctor` says more."


def _database_away(error: Exception) -> HttpResponse:
    log.error("The database refused or did not answer.", error=error)
    tell_once()
    DATABASE_ERRORS.labels("rest").inc()
    if isinstance(error.__cause__, QueryCanceled):
        detail, hint = "The database took too long over this request.", "Ask for less at once."
    elif is_full_disk_behind(error):
        detail, hint = DISK_FULL, DISK_FULL_HINT
    else:
        detail, hint = (
            "The database does not answer just now.",
            "Try again in a few seconds; `bigmind doctor` says more.",
        )
    return problem(503, "unavailable", detail, hint=hint, headers={"Retry-After": str(RETRY_SECONDS)})


def _suspicious(error: SuspiciousOperation) -> HttpResponse:
    if isinstance(error, RequestDataTooBig):
        limit = f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,}"
        return problem(413, "too_large", f"The body is too large; the limit is {limit} bytes.")
    if isinstance(error, DisallowedHost):
        hint = f"Use {settings.PUBLIC_URL}, or set BIGMIND_PUBLIC_URL to the address you used and start BigMind again."
        return problem(421, "misdirected", "This BigMind does not answer at the address in the Host header.", hint=hint)
    return problem(400, "malformed", "The request cannot be read.")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that cannot be read, or that names a host which is not ours."""
    return problem_of(exception) if is_rest(request) else errors.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem_of(exception) if is_rest(request) else defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem_of(Http404()) if is_rest(request) else defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer what came from before any view: 503 where the database was away, else 500, which Django logs."""
    error = sys.exc_info()[1]
    if isinstance(error, OperationalError | InterfaceError):
        return problem_of(error) if is_rest(request) else errors.database_away(error)
    return problem_of(RuntimeError()) if is_rest(request) else defaults.server_error(request)

"""The pages for requests that Django itself refuses, or that fail: they name what to do, not the mechanism."""

import structlog
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from bigmind.core.metrics import DATABASE_ERRORS
from bigmind.observability.health import is_full_disk_behind
from bigmind.observability.logging import tell_once

log = structlog.get_logger()


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400. The usual reason is an address that BigMind does not know as its own."""
    asked_for = request.META.get("HTTP_HOST", "") if isinstance(exception, DisallowedHost) else ""
    return render(request, "400.html", {"asked_for": asked_for, "public_url": settings.PUBLIC_URL}, status=400)


def database_away(error: BaseException) -> HttpResponse:
    """Answer 503 while the database is away, and log why."""
    log.error("The database refused or did not answer.", error=error)
    tell_once()
    DATABASE_ERRORS.labels("page").inc()
    # Without the request: who is signed in is asked of the database, too.
    page = render_to_string("503.html", {"is_full": is_full_disk_behind(error)})
    return HttpResponse(page, status=503, headers={"Retry-After": "5"})


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403 to a form that did not come from one of our own pages, or came too late."""
    return render(request, "csrf_failure.html", {"reason": reason, "public_url": settings.PUBLIC_URL}, status=403)

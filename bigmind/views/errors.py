"""The pages for requests that Django itself refuses: they name the setting to change, not the mechanism."""

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400. The usual reason is an address that BigMind does not know as its own."""
    asked_for = request.META.get("HTTP_HOST", "") if isinstance(exception, DisallowedHost) else ""
    return render(request, "400.html", {"asked_for": asked_for, "public_url": settings.PUBLIC_URL}, status=400)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403 to a form that did not come from one of our own pages, or came too late."""
    return render(request, "csrf_failure.html", {"reason": reason, "public_url": settings.PUBLIC_URL}, status=403)

"""Middleware of every page and REST request: request id, health checks, row-level security, refusals as pages."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import structlog
from django.conf import settings
from django.contrib import messages
from django.db import DataError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext_lazy as _

from accounts.actor import Actor, acts
from accounts.people.locale import COOKIE, language_of, note_browser
from accounts.services.private_rows import hide_private_rows
from bigmind.core.errors import BigMindError, Invalid, ReadOnly
from bigmind.core.full_disk import is_disk_full
from bigmind.core.metrics import REQUEST_SECONDS, REQUESTS
from bigmind.core.sentences import in_language
from bigmind.core.tracing import current_request_id, describe, request_span
from bigmind.database.change_notifications import ANY, Change, tell_of_change
from bigmind.database.read_only import is_read_only, is_refused_write
from bigmind.database.replicas import answer_read, note_failure, note_write
from bigmind.database.rls import rls_bypass, rls_scope
from bigmind.observability import health
from bigmind.observability.logging import HEADER, NO_ROUTE, begin_request, is_told
from bigmind.observability.metrics import metrics
from bigmind.privacy.screening.policy import collect_notices
from bigmind.transports.fair_pool import People
from bigmind.transports.rest.problems import STATUSES, problem_of
from bigmind.views.errors import database_away
from bigmind.web.pages import ADMIN, is_for_programs, with_retry_after

HEADINGS = {
    403: _("You may not do that"),
    404: _("There is nothing here"),
    409: _("That is not possible now"),
    422: _("That cannot be accepted"),
    429: _("That was too much at once"),
    503: _("BigMind is read-only just now"),
}
COMPRESSED = {"text/html", "text/css", "text/javascript", "image/svg+xml"}
"""What people's browsers load. What agents and programs read stays as it is: much of it is streamed."""
PARTIAL = 206
SAFE = {"GET", "HEAD", "OPTIONS"}
FOR_ALL = ("curation.", "django.contrib.admin")
"""Where the pages are by which curators and admins change what everyone receives."""
ANSWERS: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "/healthz": health.healthz,
    "/readyz": health.readyz,
    "/metrics": metrics,
}
"""What is answered before the Host header is judged, because load balancers and Prometheus ask by address."""
GetResponse = Callable[[HttpRequest], HttpResponse]

log = structlog.get_logger()


class CompressionMiddleware(GZipMiddleware):
    """Compresses pages and what they load, also what WhiteNoise serves from files that nobody compressed before.

    Django adds random bytes to what it compresses, and masks its tokens again for each request: the length of an
    answer tells nothing about them (the attack is called BREACH).
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress the whole of a page; a part of a file stays what was asked for."""
        kind = response.get("Content-Type", "").partition(";")[0]
        if kind not in COMPRESSED or response.status_code == PARTIAL:
            return response
        return super().process_response(request, response)


class RequestIdMiddleware:
    """Gives each request an id, which its response, its log lines and its error page carry.

    It comes first, and so it also answers the health paths: before the Host header is judged.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = perf_counter()
        request.id = begin_request(request.headers.get(HEADER, ""))  # type: ignore[attr-defined]
        if answer := ANSWERS.get(request.path_info):
            response = answer(request)
        else:
            with request_span(request.headers) as traced:
                response = self.get_response(request)
                if traced:
                    name, status = f"{request.method} {_route_of(request)}", response.status_code
                    describe(traced, failed=status >= 500, name=name, status=status, request_id=current_request_id())
            _count(request, response, perf_counter() - started)
        response[HEADER] = request.id  # type: ignore[attr-defined]
        return response


def _route_of(request: HttpRequest) -> str:
    """Return the template of a request's route: its address may hold an id, or a link that signs in."""
    return request.resolver_match.route if request.resolver_match else NO_ROUTE


def _count(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """Count a request by its route, and log it when it was refused, failed or took long."""
    route, status, milliseconds = _route_of(request), response.status_code, round(seconds * 1000, 1)
    REQUESTS.labels(route, status).inc()
    REQUEST_SECONDS.labels(route).observe(seconds)
    is_slow = milliseconds >= settings.SLOW_MILLISECONDS
    if (status >= 400 or is_slow) and not is_told():
        tell = log.warning if is_slow or status >= 500 else log.info
        ended = "was slow" if status < 400 else "failed" if status >= 500 else "was refused"
        tell(f"A request {ended}.", route=route, method=request.method, outcome=status, milliseconds=milliseconds)


class RlsMiddleware:
    """Limits a page to the private rows of the signed-in user. In the admin site, admins see all rows, texts hidden.

    REST is left to the gate, which knows the owner of the key. A request without a session sees no private rows.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        has_session = not is_for_programs(request.path_info) and settings.SESSION_COOKIE_NAME in request.COOKIES
        if not (has_session and request.user.pk):
            return self.get_response(request)
        People.note(request.COOKIES[settings.SESSION_COOKIE_NAME], request.user.pk)
        response = self._serve(request, request.user)
        if request.method not in SAFE and request.user.pk:
            note_write(request.user.pk)
        _tell_of_change(request, response)
        return response

    def _serve(self, request: HttpRequest, user: Any) -> HttpResponse:
        if not request.path_info.startswith(ADMIN):
            with rls_scope(user.pk), acts(Actor.of(user)):
                if request.method in SAFE:
                    return answer_read(user.pk, lambda: self.get_response(request))
                return self.get_response(request)
        with (
            rls_bypass() if user.is_admin else rls_scope(user.pk),
            acts(Actor.of(user)),
            hide_private_rows(user, request.session),
        ):
            return self.get_response(request)


def _tell_of_change(request: HttpRequest, response: HttpResponse) -> None:
    """Let agents that listen know of what a page may have changed: one that refuses a form does not redirect."""
    if request.method in SAFE or not 300 <= response.status_code < 400 or is_read_only() or not request.user.pk:
        return
    view = getattr(request.resolver_match, "func", None)
    is_for_all = getattr(view, "__module__", "").startswith(FOR_ALL) and "curate" in Actor.of(request.user).scopes
    tell_of_change(Change() if is_for_all else Change.of(request.user.pk, ANY))


class ReaderMiddleware:
    """Gives pages the language of the person who reads them, else of their browser, and the time zone of the person.

    What programs read below `/api/` stays English.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_for_programs(request.path_info):
            return self.get_response(request)
        person = request.user if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.pk else None
        language = language_of(person, browser=request.headers.get("Accept-Language", ""))
        if person:
            note_browser(person, request.COOKIES.get(COOKIE, ""))
        zone = person.zone if person else None
        with translation.override(language), timezone.override(zone):
            response = self.get_response(request)
        patch_vary_headers(response, ["Accept-Language"])
        return response


class NoticeMiddleware:
    """Shows notices about stored texts on the next page: that one of them holds a secret, for example."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with collect_notices() as notices:
            response = self.get_response(request)
        # A response that does not redirect stored nothing: it shows the form again, with its errors.
        if 300 <= response.status_code < 400:
            for notice in notices:
                messages.warning(request, in_language(notice))
        return response


class RefusalMiddleware:
    """Tells the refusals of operations as pages, and as problems below `/api/`."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        """Refuse a form while nothing can be stored. The theme is kept in the browser; REST is left to the gate."""
        if not is_read_only() or request.method in SAFE or is_for_programs(request.path_info):
            return None
        assert request.resolver_match is not None
        return None if request.resolver_match.view_name == "theme" else _page(request, ReadOnly())

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer what a view has raised; None leaves it to Django."""
        if is_for_programs(request.path_info):
            return problem_of(exception)
        if note_failure(exception):
            return HttpResponse(status=503)  # Nobody gets it: the primary answers the request again.
        if isinstance(exception, BigMindError):
            return _page(request, exception)
        if is_refused_write(exception):
            return _page(request, ReadOnly())
        if isinstance(exception, DataError) and "NUL" in str(exception):
            # Forms refuse it by themselves. Else it stood in the address, or in a field that has no form.
            return _page(request, Invalid(str(_("What was sent has a NUL character, which no text may have."))))
        if isinstance(exception, OperationalError | InterfaceError) or is_disk_full(exception):
            return database_away(exception)
        return None


def _page(request: HttpRequest, refusal: BigMindError) -> HttpResponse:
    status = next(status for kind, status in STATUSES.items() if isinstance(refusal, kind))
    response = render(request, "refusal.html", {"refusal": refusal, "heading": HEADINGS[status]}, status=status)
    return with_retry_after(response, refusal)

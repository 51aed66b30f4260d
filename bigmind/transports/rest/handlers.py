"""What Django calls when it refuses a request itself: a problem below `/api/`, elsewhere a page."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views import defaults

from bigmind.transports.rest.problems import is_rest, problem_of
from bigmind.views import errors


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that cannot be read, or that names a host which is not ours."""
    return problem_of(exception) if is_rest(request) else errors.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403."""
    return problem_of(exception) if is_rest(request) else defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404."""
    return problem_of(Http404()) if is_rest(request) else defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500. The error is in the log already."""
    return problem_of(RuntimeError()) if is_rest(request) else defaults.server_error(request)

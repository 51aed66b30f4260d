"""The choice whether keyboard shortcuts are on, kept in a cookie like the theme (WCAG 2.1.4)."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from bigmind.web.pages import own_page, way_back

KEYS_COOKIE = "bigmind_keys"
ONE_YEAR = 60 * 60 * 24 * 365


def keys_are_on(request: HttpRequest) -> bool:
    """Whether the keyboard shortcuts of the queue are on."""
    return request.COOKIES.get(KEYS_COOKIE) != "off"


@own_page
@require_POST
def choose_keys(request: HttpRequest) -> HttpResponse:
    """Turn the keyboard shortcuts on or off, and return to the page."""
    response = way_back(request, otherwise=reverse("curation"))
    if request.POST.get("keys") == "off":
        secure = request.is_secure()
        response.set_cookie(KEYS_COOKIE, "off", max_age=ONE_YEAR, secure=secure, httponly=True, samesite="Lax")
    else:
        response.delete_cookie(KEYS_COOKIE, samesite="Lax")
    return response

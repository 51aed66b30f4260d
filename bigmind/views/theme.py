"""A person's choice of light or dark, kept in a cookie so that it holds before and after signing in."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from bigmind.context_processors import THEME_COOKIE, THEMES
from bigmind.web.pages import is_own_address

ONE_YEAR = 60 * 60 * 24 * 365


@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Keep the theme that was chosen and turn back to the page; anything else follows the system again."""
    back = request.POST.get("next", "")
    response = redirect(back if is_own_address(request, back) else "/")
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        response.set_cookie(
            THEME_COOKIE, theme, max_age=ONE_YEAR, secure=request.is_secure(), httponly=True, samesite="Lax"
        )
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response

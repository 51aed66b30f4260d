"""What every page may show: the theme a person chose, the navigation, and the instance."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from bigmind import __version__
from bigmind.database.read_only import is_read_only
from bigmind.navigation import navigation_of
from knowledge.people.first_steps import first_steps_of

THEMES = ("light", "dark")
THEME_COOKIE = "bigmind_theme"
COMFORTABLE = "comfortable"
DENSITY_COOKIE = "bigmind_density"


def theme(request: HttpRequest) -> dict[str, Any]:
    """The theme and density that were chosen, or empty texts: to follow the system, to be compact."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    density = request.COOKIES.get(DENSITY_COOKIE, "")
    return {"theme": chosen if chosen in THEMES else "", "density": density if density == COMFORTABLE else ""}


def navigation(request: HttpRequest) -> dict[str, Any]:
    """The main navigation of the signed-in user."""
    return {"navigation": navigation_of(request)}


def first_steps(request: HttpRequest) -> dict[str, Any]:
    """The first steps of the signed-in user, asked for only by a page that shows them."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    return {"first_steps": SimpleLazyObject(lambda: first_steps_of(user))}


def instance(_request: HttpRequest) -> dict[str, Any]:
    """The instance's public URL, version and mode, and how people sign in besides passwords, or instead."""
    return {
        "public_url": settings.PUBLIC_URL,
        "version": __version__,
        "read_only": is_read_only(),
        "mode": settings.BIGMIND_MODE,
        "sso_name": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
        "passwords_only_for": settings.PASSWORDS_ONLY_FOR,
    }

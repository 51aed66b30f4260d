"""What every page may show: the theme a person chose, the navigation, and the instance."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from bigmind import __version__
from bigmind.navigation import navigation_of

THEMES = ("light", "dark")
THEME_COOKIE = "bigmind_theme"


def theme(request: HttpRequest) -> dict[str, Any]:
    """The theme that was chosen, or an empty text to follow the system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return {"theme": chosen if chosen in THEMES else ""}


def navigation(request: HttpRequest) -> dict[str, Any]:
    """The main navigation of the signed-in user."""
    return {"navigation": navigation_of(request)}


def instance(_request: HttpRequest) -> dict[str, Any]:
    """The instance's public URL, version and mode, and how people sign in besides passwords, or instead."""
    return {
        "public_url": settings.PUBLIC_URL,
        "version": __version__,
        "read_only": settings.READ_ONLY,
        "mode": settings.BIGMIND_MODE,
        "sso_name": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
        "passwords_only_for": settings.PASSWORDS_ONLY_FOR,
    }

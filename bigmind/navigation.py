"""The main navigation: which sections a signed-in person is offered, and which one they are in."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse


@dataclass(frozen=True)
class Link:
    """One line of the navigation. `current` is what `aria-current` says: `page`, `true` for a page within, or empty."""

    label: str
    url: str
    current: str = ""


@dataclass(frozen=True)
class Group:
    """Links that belong together, under a title unless they speak for themselves."""

    title: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Navigation:
    """All groups, and the link to the person's own profile."""

    groups: tuple[Group, ...]
    profile: Link


def navigation_for(username: str, path: str) -> Navigation:
    """Return the navigation as the person `username` sees it on the page at `path`."""

    def link(label: str, route: str, *args: str) -> Link:
        url = reverse(route, args=args)
        return Link(label, url, _current(url, path))

    return Navigation(
        groups=(
            Group("", (link("Home", "home"), link("My memory", "memory"))),
            Group("Your agents", (link("Connect", "connect"), link("Keys", "keys"), link("API", "api-docs"))),
        ),
        profile=link(username, "profile", username),
    )


def navigation_of(request: HttpRequest) -> Navigation | None:
    """Return the navigation for whoever is signed in; nothing when nobody is, or when an error came before."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return None
    return navigation_for(user.get_username(), request.path)


def _current(url: str, path: str) -> str:
    if path == url:
        return "page"
    return "true" if url != "/" and path.startswith(url) else ""

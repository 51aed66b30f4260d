"""The main navigation: which sections a signed-in person is offered, and which one they are in."""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import User
from curation.decisions.rules import may_decide
from curation.notifications.notices import count_unseen
from curation.proposals.queue import QueueSummary, queue_summary


@dataclass(frozen=True)
class Link:
    """One line of the navigation. `current` is what `aria-current` says: `page`, `true` for a page within, or empty.

    `note` is what is new there, in a few words.
    """

    label: str
    url: str
    current: str = ""
    note: str = ""


@dataclass(frozen=True)
class Group:
    """Links that belong together, under a title unless they speak for themselves."""

    title: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Navigation:
    """All groups, and the links to the person's own profile and to what they were told."""

    groups: tuple[Group, ...]
    profile: Link
    notices: Link


def navigation_for(user: User, path: str, *, queue: QueueSummary | None = None, unseen: int = 0) -> Navigation:
    """Return the navigation as this person sees it on the page at `path`: what their role does not open is left out.

    Args:
        queue: What waits for a decision, for whoever decides.
        unseen: How much the person was told and has not seen.
    """

    here = _Here(path)
    groups = [_memory(here, queue), _curation(here, queue), _agents(here), _administration(here, user)]
    return Navigation(
        tuple(group for group in groups if group),
        profile=here.link(user.username, "profile", user.username),
        notices=here.link("Notices", "notices", note=_at_most_99(unseen)),
    )


def navigation_of(request: HttpRequest) -> Navigation | None:
    """Return the navigation for whoever is signed in; nothing when nobody is, or when an error came before."""
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return None
    queue = queue_summary() if may_decide(Actor.of(user)) else None
    return navigation_for(user, request.path, queue=queue, unseen=count_unseen(user))


@dataclass(frozen=True)
class _Here:
    """The page someone is on, as links see it."""

    path: str

    def link(self, label: str, route: str, *args: str, note: str = "") -> Link:
        """Return a link to a page, which knows whether one is on it or within."""
        url = reverse(route, args=args)
        return Link(label, url, self._current(url), note)

    def _current(self, url: str) -> str:
        if self.path == url:
            return "page"
        return "true" if url != "/" and self.path.startswith(url) else ""


def _memory(here: _Here, queue: QueueSummary | None) -> Group:
    return Group(
        "",
        (
            here.link("Home", "home"),
            here.link("My memory", "memory"),
            here.link("Captured", "captured"),
            here.link("Company knowledge", "company"),
            here.link("Knowledge base", "kb"),
            here.link("Documentation", "docs", note=_to_decide(queue)),
            here.link("App maps", "apps"),
            here.link("Directory", "directory"),
            here.link("Insights", "insights"),
        ),
    )


def _curation(here: _Here, queue: QueueSummary | None) -> Group | None:
    return Group("", (here.link("Curation", "curation", note=_in_words(queue)),)) if queue is not None else None


def _agents(here: _Here) -> Group:
    links = here.link("Connect", "connect"), here.link("Keys", "keys"), here.link("API", "api-docs")
    return Group("Your agents", links)


def _administration(here: _Here, user: User) -> Group | None:
    if not user.is_admin:
        return None
    system = reverse("system")
    links = (
        here.link("People", "people"),
        # Of the pages below it each has its own link here: it is not “within” itself on them.
        Link("System", system, "page" if here.path == system else ""),
        here.link("Embeddings", "embeddings"),
        here.link("Deliveries", "deliveries"),
        here.link("Erasures", "erasures"),
        here.link("Audit log", "audit"),
    )
    company = (here.link("Company server", "company-server"),) if settings.COMPANY_URL else ()
    return Group("Administration", links + company)


def _to_decide(queue: QueueSummary | None) -> str:
    """How much of the documentation waits for a decision."""
    return f"{queue.drifts:,} to decide" if queue and queue.drifts else ""


def _at_most_99(number: int) -> str:
    """A number in little room; nothing for none."""
    return "" if not number else str(number) if number < 100 else "99+"


def _in_words(queue: QueueSummary) -> str:
    """How much waits, and for how long the oldest has; nothing when nothing waits."""
    if not queue.waiting:
        return ""
    days = (timezone.now() - queue.oldest).days if queue.oldest else 0
    oldest = f", oldest {days} day{'' if days == 1 else 's'}" if days else ""
    return f"{queue.waiting:,} waiting{oldest}"

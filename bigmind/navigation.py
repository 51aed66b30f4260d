"""The main navigation: which sections a signed-in person is offered, and which one they are in."""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import User
from curation.services.notices import count_unseen
from curation.services.queue import QueueSummary, queue_summary
from curation.services.rules import may_decide


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

    def link(label: str, route: str, *args: str, note: str = "") -> Link:
        url = reverse(route, args=args)
        return Link(label, url, _current(url, path), note)

    groups = [
        Group(
            "",
            (
                link("Home", "home"),
                link("My memory", "memory"),
                link("Company knowledge", "company"),
                link("Knowledge base", "kb"),
                link("Documentation", "docs", note=_to_decide(queue)),
                link("App maps", "apps"),
                link("Directory", "directory"),
                link("Insights", "insights"),
            ),
        ),
        Group("Your agents", (link("Connect", "connect"), link("Keys", "keys"), link("API", "api-docs"))),
    ]
    if queue is not None:
        groups.insert(1, Group("", (link("Curation", "curation", note=_in_words(queue)),)))
    if user.is_admin:
        system = reverse("system")
        administration: tuple[Link, ...] = (
            link("People", "people"),
            # Of the pages below it each has its own link here: it is not “within” itself on them.
            Link("System", system, "page" if path == system else ""),
            link("Embeddings", "embeddings"),
            link("Deliveries", "deliveries"),
            link("Erasures", "erasures"),
            link("Audit log", "audit"),
        )
        if settings.COMPANY_URL:
            administration += (link("Company server", "company-server"),)
        groups.append(Group("Administration", administration))
    told = link("Notices", "notices", note=_at_most_99(unseen))
    return Navigation(tuple(groups), profile=link(user.username, "profile", user.username), notices=told)


def navigation_of(request: HttpRequest) -> Navigation | None:
    """Return the navigation for whoever is signed in; nothing when nobody is, or when an error came before."""
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return None
    queue = queue_summary() if may_decide(Actor.of(user)) else None
    return navigation_for(user, request.path, queue=queue, unseen=count_unseen(user))


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


def _current(url: str, path: str) -> str:
    if path == url:
        return "page"
    return "true" if url != "/" and path.startswith(url) else ""

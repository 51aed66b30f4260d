"""The main navigation: which sections a signed-in person is offered, and which one they are in.

It grows with the role and with what there is: a link to a page that would be empty waits under “More”, until something
is there or the person is on that page.
"""

from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from functools import cache, cached_property, lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import get_script_prefix, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from accounts.actor import Actor
from accounts.models import ApiKey, Call, ErasureReport, User
from bigmind.core.translation import _, gettext_lazy, ngettext, write_number
from bigmind.database.fixed_queries import FixedQuery
from bigmind.database.rls import rls_bypass
from curation.decisions.who_may_decide import may_decide
from curation.models import Delivery
from curation.notifications.notices import unseen_by
from curation.proposals.queue import WaitingCounts, counting
from curation.views.queue_queries import counts_every_reason, keep_counts
from knowledge.models import App, CompanyEntry, Conversation, Entry, Reference

ICONS = {
    "home": "inbox",
    "memory": "rings",
    "captured": "hook",
    "curation": "review",
    "company": "company",
    "kb": "kb",
    "docs": "reference",
    "apps": "app",
    "directory": "people",
    "insights": "chart",
    "connect": "plug",
    "keys": "key",
    "api-docs": "code",
    "people": "person",
    "system": "sliders",
    "embeddings": "fact",
    "deliveries": "mail",
    "erasures": "trash",
    "audit": "clock",
    "system-settings": "sliders",
    "company-server": "external",
    "notices": "bell",
}
"""The symbol of the sprite beside each link, by the name of its route."""


_ADMINISTRATION = (
    "people",
    "system",
    "embeddings",
    "deliveries",
    "erasures",
    "audit",
    "system-settings",
    "company-server",
)
_GROUPS = (
    ("", ("home", "memory", "captured")),
    (gettext_lazy("Company"), ("curation", "company", "kb", "docs", "apps")),
    (gettext_lazy("Team"), ("directory", "insights")),
    (gettext_lazy("Your agents"), ("connect", "keys", "api-docs")),
    (gettext_lazy("Administration"), _ADMINISTRATION),
)
_LABELS = {
    "home": gettext_lazy("Home"),
    "memory": gettext_lazy("My memory"),
    "captured": gettext_lazy("Captured"),
    "curation": gettext_lazy("Curation"),
    "company": gettext_lazy("Company knowledge"),
    "kb": gettext_lazy("Knowledge base"),
    "docs": gettext_lazy("Documentation"),
    "apps": gettext_lazy("App maps"),
    "directory": gettext_lazy("Directory"),
    "insights": gettext_lazy("Insights"),
    "connect": gettext_lazy("Connect"),
    "keys": gettext_lazy("Keys"),
    "api-docs": "API",
    "people": gettext_lazy("People"),
    "system": gettext_lazy("System"),
    "embeddings": gettext_lazy("Embeddings"),
    "deliveries": gettext_lazy("Deliveries"),
    "erasures": gettext_lazy("Erasures"),
    "audit": gettext_lazy("Audit log"),
    "system-settings": gettext_lazy("Settings"),
    "company-server": gettext_lazy("Company server"),
    "notices": gettext_lazy("Notices"),
}


@dataclass(frozen=True)
class Link:
    """One line of the navigation. `current` is what `aria-current` says: `page`, `true` for a page within, or empty.

    `note` is what is new there, in a few words; `icon` a symbol of the sprite; `waits` whether it stands under “More”.
    """

    label: str
    url: str
    current: str = ""
    note: str = ""
    icon: str = ""
    waits: bool = False


@dataclass(frozen=True)
class Group:
    """Links that belong together, under a title unless they speak for themselves."""

    title: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Menu:
    """What a person is offered on a page: the groups they see, what waits under “More”, and what is always in reach.

    `bar` is what stands at the bottom of a phone; `notices` leads to what they received. It is made once for all pages
    and people with the same, so what is drawn of it is kept with it.
    """

    groups: tuple[Group, ...]
    more: tuple[Group, ...]
    bar: tuple[Link, ...]
    notices: Link

    @cached_property
    def lists(self) -> SafeString:
        """The groups and what waits under “More”, as HTML."""
        return render_to_string("components/_navigation_lists.html", {"menu": self})

    @cached_property
    def quick(self) -> SafeString:
        """The bar, as HTML."""
        return render_to_string("components/_quick_links.html", {"menu": self})


@dataclass(frozen=True)
class Navigation:
    """The menu, and the link to the person's own page."""

    menu: Menu
    profile: Link


MENUS_KEPT = 500

GROWING = frozenset(
    {"captured", "curation", "company", "kb", "docs", "apps", "directory", "insights", "keys", "deliveries", "erasures"}
)
"""The routes whose links stand in the list as soon as there is something behind them."""

SECONDARY = frozenset({"api-docs", "embeddings", "audit"})
"""The routes that are looked up now and then, and stay under “More”."""


def navigation_for(
    user: User,
    path: str,
    *,
    queue: WaitingCounts | None = None,
    unseen: int = 0,
    filled: Collection[str] = GROWING,
) -> Navigation:
    """Return the navigation as this person sees it on the page at `path`: what their role does not open is left out.

    Args:
        queue: What waits for a decision, for the one who decides.
        unseen: How many notices the person has not seen.
        filled: The routes of `GROWING` behind which there is something.
    """
    notes = [("notices", _at_most_99(unseen))]
    if queue is not None:
        notes += [("curation", _in_words(queue)), ("docs", _to_decide(queue))]
    prefix = get_script_prefix()
    menu = _menu_with(
        frozenset([*_ADMINISTRATION * user.is_admin, *["curation"] * (queue is not None)]),
        frozenset(filled),
        tuple([(route, current) for route, url in _addresses(prefix) if (current := _current(route, url, path))]),
        tuple(notes),
        settings.COMPANY_URL,
        get_language(),
        prefix,
    )
    profile = reverse("profile", args=[user.username])
    within = "page" if path == profile else "true" if path.startswith(profile) else ""
    return Navigation(menu, Link(user.username, profile, within))


@lru_cache(MENUS_KEPT)
def _menu_with(
    opened: frozenset[str],
    filled: frozenset[str],
    currents: tuple[tuple[str, str], ...],
    noted: tuple[tuple[str, str], ...],
    company_url: str,
    _language: str | None,
    prefix: str,
) -> Menu:
    """Return the menu of those whose role opens these routes of the ones that not all may see."""
    current, notes = dict(currents), dict(noted)
    links: dict[str, Link] = {}
    for route, url in _addresses(prefix):
        waits = route not in current and (route in SECONDARY or (route in GROWING and route not in filled))
        label, symbol = str(_LABELS[route]), ICONS.get(route, "")
        links[route] = Link(label, url, current.get(route, ""), notes.get(route, ""), symbol, waits)
    left_out = {*_ADMINISTRATION, "curation"} - opened | ({"company-server"} if not company_url else set())
    groups: list[Group] = []
    more: list[Group] = []
    for title, routes in _GROUPS:
        parts: tuple[list[Link], list[Link]] = [], []
        for route in routes:
            if route not in left_out:
                parts[links[route].waits].append(links[route])
        for group, shown in zip((groups, more), parts, strict=True):
            if shown:
                group.append(Group(str(title), tuple(shown)))
    # What a thumb reaches first: home, memory, and the queue of a curator or what the company knows.
    third = ("curation", _("Curation")) if "curation" in opened else ("company", _("Company"))
    bar = (("home", _("Home")), ("memory", _("Memory")), third)
    reach = tuple([replace(links[route], label=label, note="") for route, label in bar])
    return Menu(tuple(groups), tuple(more), reach, links["notices"])


def _current(route: str, url: str, path: str) -> str:
    # Of the pages below “System” each has its own link here: it is not “within” itself on them.
    is_within = url != "/" and route != "system" and path.startswith(url)
    return "page" if path == url else "true" if is_within else ""


@cache
def _addresses(_prefix: str) -> list[tuple[str, str]]:
    # What `reverse` returns depends on the prefix, so it is part of what is remembered.
    return [(route, reverse(route)) for route in _LABELS]


def counts_in(navigation: Navigation) -> dict[str, str]:
    """Return what the navigation counts, in its words, by the address of the page where it waits."""
    groups = (*navigation.menu.groups, *navigation.menu.more)
    links = [navigation.menu.notices, *(link for group in groups for link in group.links)]
    return {link.url: link.note for link in links if link.note}


def navigation_of(request: HttpRequest) -> Navigation | None:
    """Return the navigation for the one who is signed in; nothing when nobody is, or when an error came before."""
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return None
    decides = may_decide(Actor.of(user))
    row = _look_behind(user, counts_every_reason(request) if decides else None)
    queue = keep_counts(request, row) if decides else None
    filled = {route.removeprefix("has_") for route, has in row.items() if route.startswith("has_") and has}
    if settings.BIGMIND_MODE != "personal":
        filled |= {"company", "directory"}
    if queue is not None and (queue.waiting or "company" in filled):
        filled.add("curation")
    return navigation_for(user, request.path, queue=queue, unseen=row["unseen"], filled=filled)


def _look_behind(user: User, every_reason: bool | None) -> dict[str, Any]:
    """Return the row of all that is counted: behind which growing routes this person finds something, and the queue.

    All that it reads of people is the user's own, but for the queue: what others complain about is counted there.

    Args:
        every_reason: Whether the queue is counted by every reason; None for someone who does not decide.
    """
    moments: tuple[Any, ...] = ()
    if every_reason:  # What is due depends on the day, and what is unused on the mode.
        today = datetime.combine(timezone.localdate(), time.min, UTC)
        moments = (settings.BIGMIND_MODE,), timezone.now(), today
    with nullcontext() if every_reason is None else rls_bypass():
        [row] = _BEHIND(user.pk, user.is_admin, every_reason, *moments)
    return dict(row)


def _behind(
    user_id: UUID,
    is_admin: bool,
    every_reason: bool | None,
    _mode: tuple[str] | None = None,
    now: datetime | None = None,
    today: datetime | None = None,
) -> QuerySet[Any, Any]:
    """Return that row. It takes one query, because every page asks."""
    user = User(pk=user_id)
    rows = {
        "captured": Conversation.objects.filter(user=user),
        "company": CompanyEntry.objects.approved(),
        "kb": Entry.objects.all(),
        "docs": Reference.objects.all(),
        "apps": App.objects.all(),
        "insights": Call.objects.filter(user=user),
        "keys": ApiKey.objects.filter(user=user),
    }
    if is_admin:
        rows |= {"deliveries": Delivery.objects.all(), "erasures": ErasureReport.objects.all()}
    exists = {f"has_{route}": Exists(found.order_by()) for route, found in rows.items()}
    day = today.date() if today else None
    queue = {} if every_reason is None else counting(every_reason=every_reason, now=now, today=day)
    return User.objects.filter(pk=user_id).values(**exists, **queue, unseen=unseen_by(user))


_BEHIND = FixedQuery(_behind)


def _to_decide(queue: WaitingCounts | None) -> str:
    """How much of the documentation waits for a decision."""
    return _("%(drifts)s to decide") % {"drifts": write_number(queue.drifts)} if queue and queue.drifts else ""


def _at_most_99(number: int) -> str:
    """A number in little room; nothing for none."""
    return "" if not number else str(number) if number < 100 else "99+"


def _in_words(queue: WaitingCounts) -> str:
    """How much waits, and for how long the oldest has; nothing when nothing waits."""
    if not queue.waiting:
        return ""
    days = (timezone.now() - queue.oldest).days if queue.oldest else 0
    waiting = {"waiting": write_number(queue.waiting), "days": days}
    if not days:
        return _("%(waiting)s waiting") % waiting
    return (
        ngettext("%(waiting)s waiting, oldest %(days)s day", "%(waiting)s waiting, oldest %(days)s days", days)
        % waiting
    )

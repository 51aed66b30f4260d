"""How pages look, with the content of a company of twelve: a difference fails until somebody has looked at it.

`make pictures` takes them anew. Look at what changed, and commit it with what changed it.
"""

import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import Page

from accounts.actor import Actor
from tests.browser.axe import scrolls_sideways
from tests.browser.conftest import Visits
from tests.browser.fernwood import make_fernwood
from tests.browser.pictures import REVIEWED, Photographer, write_report
from tests.knowledge.factories import make_fact

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True, reset_sequences=True)]

REPORT = Path(__file__).parents[2] / ".make" / "pictures"
LISTS = (
    *("home", "memory", "facts", "sessions", "notes", "hypotheses", "archive", "timeline", "captured", "tidying"),
    *("curation", "company", "company-mine", "knowledge-base", "documentation", "app-maps", "directory"),
    *("unanswered", "notices", "keys", "people", "audit", "webhooks", "system"),
)
LISTS_OF_LONG = ("home", "memory", "facts", "timeline", "tidying")
WIDTHS = (320, 820, 1920)
LONG = (
    "The nightly job that compares invoices of the ledger with the payments of the bank stops without a word when the "
    "certificate of the bank has expired: look at the date of the certificate first, not at the logs of the job."
)

MEASURE = """() => {
    const rows = document.querySelectorAll(
        "main :is(.items > .item, .queue > li:not(.yours), .events > li, .log > li, table[data-list] tbody tr)");
    return [...rows].filter((row) => row.checkVisibility()).map((row) => {
        const title = row.querySelector(
            ":scope > :is(h2, h3, p, th, span:not(.kind, .avatar, .badge)), :scope > div > :is(a, p)");
        if (!title) return null;
        const cut = [title, ...title.querySelectorAll("*")].some((one) => {
            const { overflow } = getComputedStyle(one);
            return overflow !== "visible"
                && (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 2);
        });
        const box = row.getBoundingClientRect(), own = title.getBoundingClientRect();
        const share = title.tagName === "A" ? title.parentElement.getBoundingClientRect().width : own.width;
        return [share / Math.min(box.width, innerWidth), cut || own.right > innerWidth + 1, title.textContent.trim()];
    }).filter(Boolean);
}"""

RENEW = os.environ.get("RENEW_PICTURES") == "1"
KEPT_BYTES = 3_000_000
IN_DOCS = Path(__file__).parents[2] / "docs" / "pictures"
PAGES_IN_DOCS = ("home", "facts", "curation", "insights")
PAGES_IN_GERMAN = ("home", "curation")


def _addresses(fernwood: dict[str, Any]) -> dict[str, str]:
    """Return the pages by the names of their sheets."""
    waiting, approved = fernwood["company"][0], fernwood["company"][-1]
    entry = fernwood["entry"]
    return {
        "home": reverse("home"),
        "search": f"{reverse('home')}?query=webhooks",
        "search-nothing": f"{reverse('home')}?query=zzyzx&kinds=note",
        "search-explained": f"{reverse('search-explain')}?query=webhooks",
        "memory": reverse("memory"),
        "facts": reverse("memory-facts"),
        "facts-nothing": f"{reverse('memory-facts')}?text=zzyzx",
        "fact": reverse("memory-fact", args=[fernwood["fact"].number]),
        "fact-new": reverse("memory-fact-new"),
        "sessions": reverse("memory-sessions"),
        "session": reverse("memory-session", args=[fernwood["sessions"][0].pk]),
        "notes": reverse("memory-notes"),
        "hypotheses": reverse("memory-hypotheses"),
        "context": reverse("memory-context"),
        "tidying": reverse("memory-tidy"),
        "archive": reverse("memory-aside"),
        "timeline": reverse("memory-timeline"),
        "captured": reverse("captured"),
        "scrub": reverse("scrub"),
        "curation": reverse("curation"),
        "curation-entry": reverse("curation-entry", args=[waiting.pk]),
        "curation-cluster": reverse("curation-cluster", args=[waiting.pk]),
        "what-a-decision-changes": f"{reverse('curation-radius')}?entry={waiting.pk}",
        "company": reverse("company"),
        "company-entry": reverse("company-entry", args=[approved.pk]),
        "company-propose": reverse("company-propose"),
        "company-mine": reverse("company-mine"),
        "knowledge-base": reverse("kb"),
        "knowledge-base-entry": reverse("kb-entry", args=[entry.pk]),
        "documentation": reverse("docs"),
        "reference": reverse("reference", args=[fernwood["reference"].pk]),
        "app-maps": reverse("apps"),
        "directory": reverse("directory"),
        "who-worked-on": f"{reverse('directory')}?query=kafka",
        "profile": reverse("profile", args=["priya"]),
        "insights": reverse("insights"),
        "insights-knowledge": reverse("insights-knowledge"),
        "insights-curation": f"{reverse('insights-curation')}?whose=everybody",
        "unanswered": reverse("insights-gaps"),
        "notices": reverse("notices"),
        "connect": reverse("connect"),
        "first-steps": reverse("welcome"),
        "what-others-see": reverse("profile-sharing", args=["priya"]),
        "keys": reverse("keys"),
        "people": reverse("people"),
        "system": reverse("system"),
        "audit": reverse("audit"),
        "settings": f"{reverse('system-settings')}?q=days",
        "confirm": reverse("confirm"),
        "backups": reverse("system-backups"),
        "connection-tests": reverse("system-tests"),
        "webhooks": reverse("webhooks"),
        "single-sign-on": reverse("sso-set-up"),
        "not-found": "/no-such-page/",
        "help": reverse("help"),
        "help-search": f"{reverse('help')}?query=set+aside",
    }


@dataclass
class Titles:
    """The titles of lists that a page showed: each has the room, and is read whole."""

    page: Page
    seen: int = 0
    cut: list[str] = field(default_factory=list)
    narrow: list[str] = field(default_factory=list)

    def look(self, name: str) -> None:
        """Measure the titles of the page as it is."""
        width = self.page.evaluate("innerWidth")
        for share, is_cut, title in self.page.evaluate(MEASURE):
            where = f"{name} at {width} px: {share:.0%} for {title[:50]!r}"
            self.seen += 1
            self.cut += [where] * is_cut
            self.narrow += [where] * (share < 0.55)
        assert scrolls_sideways(self.page) == 0, f"{name} at {width} px"


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.torture)])
def test_pages_look_as_they_did_when_somebody_looked_and_titles_are_read_whole(
    visits: Visits, settings: Any, is_whole: bool
) -> None:
    settings.BIGMIND_MODE = "team"
    cache.clear()
    fernwood = make_fernwood()
    photographer = Photographer(visits.by(fernwood["priya"]), visits.by(None), REPORT, is_whole)
    if not photographer.has_font:
        missing = "DejaVu Sans is missing (fonts-dejavu-core): text would be wider or narrower than on the sheets."
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)

    differences, titles = [], Titles(photographer.page)
    for name, address in _addresses(fernwood).items():
        photographer.take_sheet_of(address, partial(titles.look, name) if name in LISTS else lambda: None)
        if RENEW:
            (REVIEWED / f"{name}.webp").write_bytes(photographer.taken())
        elif difference := photographer.difference(name):
            differences.append(difference)

    for name in PAGES_IN_DOCS:
        photographer.take_picture_of(_addresses(fernwood)[name])
        if RENEW:
            (IN_DOCS / f"{name}.webp").write_bytes(photographer.taken())
        elif difference := photographer.difference(name, IN_DOCS):
            differences.append(difference)

    fernwood["priya"].language = "de"
    fernwood["priya"].save()
    for name in PAGES_IN_GERMAN:
        photographer.take_picture_of(_addresses(fernwood)[name])
        if RENEW:
            (REVIEWED / f"german-{name}.webp").write_bytes(photographer.taken())
        elif difference := photographer.difference(f"german-{name}"):
            differences.append(difference)

    for number in range(4):
        make_fact(Actor.of(fernwood["priya"]), f"{LONG} Case {number}.", project="billing-api")
    for name in LISTS_OF_LONG:
        photographer.page.goto(_addresses(fernwood)[name])
        for width in WIDTHS:
            photographer.page.set_viewport_size({"width": width, "height": 900})
            titles.look(name)

    named = [f"{one.name}: {one.why}" for one in differences]
    assert not differences, f"Look at {write_report(REPORT, differences)}; `make pictures` accepts them. {named}"
    assert not titles.narrow, "\n".join(titles.narrow)
    assert len(titles.cut) <= titles.seen * 0.02, "\n".join(titles.cut)
    assert titles.seen > 300


def test_the_reviewed_pictures_are_few_and_small() -> None:
    kept = list(REVIEWED.glob("*.webp"))

    assert len(kept) >= 35
    assert sum(one.stat().st_size for one in kept) <= KEPT_BYTES

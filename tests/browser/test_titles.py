"""Lists of real titles, from a phone to a wide screen: the title has the room, and is read whole."""

from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse

from accounts.actor import Actor
from tests.browser.axe import scrolls_sideways
from tests.browser.conftest import Visits
from tests.browser.fernwood import make_fernwood
from tests.browser.test_pictures import _addresses
from tests.knowledge.factories import make_fact

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDTHS = (320, 820, 1280, 1440, 1920)
LISTS = (
    *("home", "memory", "facts", "sessions", "notes", "hypotheses", "archive", "timeline", "captured", "tidying"),
    *("curation", "company", "company-mine", "knowledge-base", "documentation", "app-maps", "directory"),
    *("unanswered", "notices", "keys", "people", "audit", "webhooks", "system"),
)
ROUTES = ("erasures", "golden-questions", "company-due", "deliveries")
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


def test_every_list_gives_its_titles_the_room_and_cuts_none(visits: Visits, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    cache.clear()
    fernwood = make_fernwood()
    for number in range(4):
        make_fact(Actor.of(fernwood["priya"]), f"{LONG} Case {number}.", project="billing-api")
    addresses = _addresses(fernwood)
    page = visits.by(fernwood["priya"])
    seen = 0
    cut: list[str] = []
    narrow: list[str] = []
    for name in (*LISTS, *ROUTES):
        page.goto(addresses.get(name) or reverse(name))
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for share, is_cut, title in page.evaluate(MEASURE):
                where = f"{name} at {width} px: {share:.0%} for {title[:50]!r}"
                seen += 1
                cut += [where] * is_cut
                narrow += [where] * (share < 0.55)
            assert scrolls_sideways(page) == 0, f"{name} at {width} px"

    assert not narrow, "\n".join(narrow)
    assert len(cut) <= seen * 0.02, "\n".join(cut)
    assert seen > 500

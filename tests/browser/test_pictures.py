"""How pages look, with the content of a company of twelve: a difference fails until somebody has looked at it.

`make pictures` takes them anew. Look at what changed, and commit it with what changed it.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse

from tests.browser.conftest import Visits
from tests.browser.fernwood import make_fernwood
from tests.browser.pictures import REVIEWED, Photographer, write_report

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True, reset_sequences=True)]

REPORT = Path(__file__).parents[2] / ".make" / "pictures"
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


def test_pages_look_as_they_did_when_somebody_looked(visits: Visits, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    cache.clear()
    fernwood = make_fernwood()
    photographer = Photographer(visits.by(fernwood["priya"]), visits.by(None), REPORT)
    if not photographer.has_font:
        missing = "DejaVu Sans is missing (fonts-dejavu-core): text would be wider or narrower than on the sheets."
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)

    differences = []
    for name, address in _addresses(fernwood).items():
        photographer.take_sheet_of(address)
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

    named = [f"{one.name}: {one.why}" for one in differences]
    assert not differences, f"Look at {write_report(REPORT, differences)}; `make pictures` accepts them. {named}"


def test_the_reviewed_pictures_are_few_and_small() -> None:
    kept = list(REVIEWED.glob("*.webp"))

    assert len(kept) >= 35
    assert sum(one.stat().st_size for one in kept) <= KEPT_BYTES

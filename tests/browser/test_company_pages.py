"""Company knowledge, proposals and notices in a browser: for everyone, without scripts, whatever was stored."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.actor import Actor
from accounts.people.user_deletion import delete_user
from curation.decisions.entry_details import comment
from curation.decisions.golden_questions import pin_golden_question
from curation.models import Channel, Delivery, GoldenQuestion
from knowledge.exposures.feedback import give_feedback
from knowledge.indexing.embedding import embed_pending
from knowledge.models import CompanyEntry
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RETRIES = """Every call to another service is tried **three** times.

## How

1. The first retry after 200 ms, then doubled.
2. With a jitter of a fifth.

| status | retried |
|---|---|
| 503 | yes |
| 400 | no |
"""


@pytest.fixture(autouse=True)
def _in_a_team_that_writes_letters(settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    settings.EMAIL_HOST = "mail.example.com"


@pytest.fixture
def cora() -> Actor:
    """A curator."""
    return make_actor(make_user("cora", role="curator", display_name="Cora Curator"))


@pytest.fixture
def ada() -> Actor:
    """Somebody who proposes."""
    return make_actor(make_user("ada", display_name="Ada Lovelace"))


def _fill(ada: Actor, cora: Actor, title: str, text: str) -> dict[str, CompanyEntry]:
    """Make an entry of every sort, with `text` wherever there is room; the due one has a whole life behind it."""
    told: dict[str, Any] = {"evidence": text, "project": title[:90], "topics": [title[:90], "http"], "importance": 8}
    known = approved_entry(ada, curator=cora, title=title, content=text, **told)
    decide_at_latest(cora, entry_id=known.pk, action="edit", content=f"{text}\n\nMeasured.", notes=text[:300])
    comment(ada, entry_id=known.pk, text=text)
    give_feedback(ada, kind="company", id=known.handle, verdict="outdated", note=text[:300])
    CompanyEntry.objects.filter(pk=known.pk).update(review_after=timezone.localdate() - timedelta(days=40))
    gone, old = approved_entry(ada, curator=cora, title=title), approved_entry(ada, curator=cora, title=title)
    asked, rejected = propose(ada, title=title), propose(ada, title=title)
    waiting = propose(ada, title=title, content=f"{text}\n\nStill to be decided.")
    decide_at_latest(cora, entry_id=gone.pk, action="deprecate", notes=text[:300])
    decide_at_latest(cora, entry_id=old.pk, action="supersede", into=known.pk, notes=text[:300])
    decide_at_latest(cora, entry_id=asked.pk, action="request_changes", notes=text[:300])
    decide_at_latest(cora, entry_id=rejected.pk, action="reject", notes=text[:300])
    approved_entry(ada, curator=cora)
    embed_pending()
    return {"known": known, "gone": gone, "old": old, "asked": asked, "rejected": rejected, "waiting": waiting}


def _addresses(entries: dict[str, CompanyEntry]) -> list[str]:
    """Return the addresses of every page that its author sees."""
    return [
        reverse("company"),
        f"{reverse('company')}?query=retried+alert+services&freshness=verified&category=standard",
        f"{reverse('company')}?query=zzzz&project=none",
        f"{reverse('company')}?order=sideways",
        *(reverse("company-entry", args=[entry.pk]) for entry in entries.values()),
        reverse("company-mine"),
        reverse("company-propose"),
        reverse("company-revise", args=[entries["asked"].pk]),
        reverse("company-withdraw", args=[entries["asked"].pk]),
        reverse("notices"),
        reverse("home"),
    ]


def _for_curators(entries: dict[str, CompanyEntry]) -> list[str]:
    known = str(entries["known"].pk)
    for question in ("How often is it tried again?", "Who signs off the holiday calendar?"):
        pin_golden_question(make_actor(curator=True), question=question, kind="company", id=known, within=1)
    GoldenQuestion.objects.filter(question__startswith="Who").update(place=None, lost_since=timezone.now())
    addresses = [reverse("company-due"), reverse("golden-questions")]
    return [*addresses, *(reverse("company-entry", args=[entry.pk]) for entry in entries.values())]


def test_every_page_is_usable_by_everyone(visits: Visits, ada: Actor, cora: Actor) -> None:
    entries = _fill(ada, cora, "Retries", RETRIES)
    page = visits.by(ada.user)

    found = [finding for address in _addresses(entries) for finding in _look_at(page, address)]

    assert found == []


def test_what_curators_see_is_usable_by_everyone(visits: Visits, ada: Actor, cora: Actor) -> None:
    entries = _fill(ada, cora, "Retries", RETRIES)
    page = visits.by(cora.user)

    found = [finding for address in _for_curators(entries) for finding in _look_at(page, address)]
    page.goto(reverse("company-entry", args=[entries["known"].pk]))
    page.get_by_text("Change owner", exact=True).first.click()
    found += findings(page)

    assert found == []


def test_empty_pages_and_the_outbox_are_usable_by_everyone(visits: Visits) -> None:
    page = visits.by(make_actor(admin=True).user)
    names = (
        "company", "company-mine", "company-due", "golden-questions", "notices", "deliveries", "erasures", "scrub",
        "audit", "system-settings", "confirm", "system-backups", "system-tests", "sso-set-up", "webhooks",
        "webhook-new",
    )  # fmt: skip
    found = [finding for name in names for finding in _look_at(page, reverse(name))]
    for fields in ({}, {"attempts": 2, "error": "It answered with the status 500."}):
        Delivery.objects.create(channel=Channel.WEBHOOK, event="company.edit", body={}, **fields)

    delete_user(make_user())
    found += [finding for name in ("deliveries", "erasures") for finding in _look_at(page, reverse(name))]

    assert found == []


def test_what_is_refused_is_told_to_everyone(visits: Visits, ada: Actor, cora: Actor) -> None:
    known = approved_entry(ada, curator=cora, title="Retries", content=RETRIES)
    page = visits.by(ada.user)

    page.goto(reverse("company-propose"))
    page.get_by_label("Content").fill(RETRIES)
    page.get_by_role("button", name="Propose it").click()
    expect(page.get_by_role("link", name=f"Read {known.handle} Retries")).to_be_visible()
    found = findings(page)
    page.get_by_label("Content").fill("The key is AKIA" + "Z7QWERTYUIOPASDF.")
    page.get_by_role("button", name="Propose it").click()
    expect(page.get_by_role("alert")).to_be_focused()
    found += findings(page)
    curator = visits.by(cora.user)
    curator.goto(reverse("curation-entry", args=[known.pk]))
    decide_at_latest(cora, entry_id=known.pk, action="edit", content="Tried five times.")
    curator.get_by_role("link", name="Deprecate").click()
    curator.get_by_label("In your own words").fill("It is not true.")
    curator.get_by_role("button", name="Deprecate it").click()
    expect(curator.get_by_role("heading", name="It changed while you were reading")).to_be_visible()
    found += findings(curator)

    assert found == []


def test_without_scripts_a_proposal_lives_until_its_author_reads_the_decision(
    visits: Visits, ada: Actor, cora: Actor
) -> None:
    author, curator = visits.by(ada.user, javascript=False), visits.by(cora.user, javascript=False)

    author.goto(reverse("company"))
    author.get_by_role("link", name="Propose something").click()
    author.get_by_label("Title").fill("Retries")
    author.get_by_label("Content").fill(RETRIES)
    author.get_by_role("button", name="Propose it").click()
    expect(author.get_by_role("status")).to_contain_text("A curator will decide")
    entry = CompanyEntry.objects.get()
    decide_at_latest(cora, entry_id=entry.pk, action="request_changes", notes="Since when?")
    author.get_by_role("link", name="Notices").click()
    author.get_by_role("link", name="needs changes").click()
    author.get_by_role("link", name="Revise it").click()
    author.get_by_label("Evidence").fill("Since incident 12.")
    author.get_by_role("button", name="Save the changes").click()
    entry.refresh_from_db()
    decide_at_latest(cora, entry_id=entry.pk, action="approve", revision=entry.revision)
    author.goto(reverse("company"))
    author.get_by_role("searchbox").fill("how often is a call tried")
    author.get_by_role("button", name="Search").click()
    author.get_by_role("link", name="Retries").click()
    author.get_by_label("Your comment").fill("The payment team does it already.")
    author.get_by_role("button", name="Comment").click()
    author.get_by_role("button", name="Outdated").click()
    expect(author.get_by_role("status")).to_contain_text("back in the curators")
    curator.goto(reverse("company-entry", args=[entry.pk]))
    expect(curator.get_by_text("The payment team does it already.")).to_be_visible()
    curator.get_by_role("link", name="Decide about it").click()
    curator.get_by_role("button", name="Mark as verified").click()
    expect(curator.get_by_role("status")).to_contain_text("Verified")

    entry.refresh_from_db()
    assert entry.freshness == "verified"


def test_without_scripts_what_is_due_is_verified_by_ticking(visits: Visits, ada: Actor, cora: Actor) -> None:
    entries = [approved_entry(ada, curator=cora) for _ in range(3)]
    CompanyEntry.objects.update(review_after=timezone.localdate() - timedelta(days=1))
    page = visits.by(cora.user, javascript=False)

    page.goto(reverse("company-due"))
    page.get_by_role("checkbox", name=entries[0].handle).check()
    page.get_by_role("checkbox", name=entries[1].handle).check()
    page.get_by_role("button", name="Verify the selected").click()
    expect(page.get_by_role("status")).to_contain_text("Verified: 2 entries.")
    page.get_by_role("button", name=entries[2].handle).click()

    expect(page.get_by_role("heading", name="Nothing is due")).to_be_visible()


def test_while_one_types_the_page_says_how_long_the_text_is(visits: Visits, ada: Actor) -> None:
    page = visits.by(ada.user)
    page.goto(reverse("company-propose"))

    page.get_by_label("Content").fill("word " * 900)

    expect(page.locator("[data-tokens]")).to_contain_text("About")
    expect(page.locator("[data-over]")).to_have_count(1)


def _look_at(page: Page, address: str) -> list[str]:
    page.goto(address)
    return findings(page)

"""The knowledge base and the embedding pipeline in a browser: for everyone, without scripts, whatever was stored."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.actor import Actor
from accounts.models import Role
from knowledge.embeddings.calls import FAILURES, Circuit
from knowledge.indexing.embedding import AGAIN, active_space, embed_pending, progress
from knowledge.kb.entries import add_entry, update_entry
from knowledge.models import Entry, PassageVector
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.factories import make_actor, make_user
from tests.knowledge.factories import make_fact

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nothing_cached")]

ROUTES = """# Route ordering in vercel.json

Specific routes must come **before** parameterized ones, or the rewrite swallows them.

| route | where |
|---|---|
| `/api/health` | first |
| `/api/:path*` | last |

## How it showed

```
GET /api/health 404
```
"""


def _fill(author: Actor, text: str) -> list[str]:
    """Store `text` in every field of an entry; return the addresses of all pages that show it."""
    told = {"tags": [text[:90], "vercel"], "roles": [text[:90]], "project": text[:90], "confidence": 0.7}
    parent = add_entry(author, content=f"Story: {text}", entry_type="summary", **told).entry
    entry = add_entry(
        author,
        content=text,
        entry_type="fact",
        parent_id=parent.pk,
        source_file=text[:400],
        source_story=text[:190],
        metadata={text[:300]: text[:300]},
        **told,
    ).entry
    add_entry(author, content=f"# Detail\n\n{text}", entry_type="template", parent_id=entry.pk, **told)
    embed_pending()
    return [
        reverse("kb"),
        f"{reverse('kb')}?query=routes+alert+script&tags=vercel&min_confidence=0.6&role=dev",
        f"{reverse('kb')}?query=zzzz&project=none",
        f"{reverse('kb')}?order=sideways&entry_type=gossip",
        reverse("kb-new"),
        *(reverse("kb-entry", args=[one.pk]) for one in (parent, entry)),
        reverse("kb-edit", args=[entry.pk]),
        reverse("kb-delete", args=[parent.pk]),
    ]


@pytest.fixture
def admin() -> Actor:
    """An admin, and a pipeline in which everything has happened."""
    admin = make_actor(make_user("ada", role=Role.ADMIN, display_name="Ada Lovelace"))
    for number in range(6):
        make_fact(admin, f"Fact {number}.")
    add_entry(admin, content=ROUTES, entry_type="fact")
    embed_pending()
    PassageVector.objects.update(trouble=AGAIN, not_before=timezone.now())
    rows = PassageVector.objects.order_by("pk")
    PassageVector.objects.filter(pk__in=rows[:2]).update(trouble="")
    refused = "The embedding endpoint answered 413: it does not take these texts."
    later = timezone.now() + timedelta(hours=23)
    PassageVector.objects.filter(pk__in=rows[5:]).update(trouble=refused, not_before=later, vector=None)
    return admin


def test_every_page_is_usable_by_everyone(visits: Visits) -> None:
    author = make_actor(curator=True)
    addresses = _fill(author, ROUTES)
    page = visits.by(author.user)

    found = [finding for address in addresses for finding in _look_at(page, address)]

    assert found == []


def test_an_empty_knowledge_base_is_usable_by_everyone(visits: Visits) -> None:
    page = visits.by(make_actor(admin=True).user)

    found = [finding for name in ("kb", "embeddings") for finding in _look_at(page, reverse(name))]

    assert found == []


def test_the_pipeline_is_usable_by_everyone(visits: Visits, admin: Actor) -> None:
    page = visits.by(admin.user)
    for _ in range(FAILURES):
        Circuit(active_space().name).note_failure()  # type: ignore[union-attr]

    found = [
        finding
        for name in ("embeddings", "embeddings-rebuild", "embeddings-stop")
        for finding in _look_at(page, reverse(name))
    ]

    assert found == []


def test_what_is_refused_is_told_to_everyone(visits: Visits) -> None:
    author = make_actor(curator=True)
    entry = add_entry(author, content=ROUTES, entry_type="fact").entry
    page = visits.by(author.user)

    page.goto(reverse("kb-new"))
    page.get_by_label("Content").fill(ROUTES)
    page.get_by_role("button", name="Add it").click()
    expect(page.get_by_role("link", name="Read the entry that says it")).to_be_visible()
    known = findings(page)
    page.goto(reverse("kb-edit", args=[entry.pk]))
    update_entry(make_actor(curator=True), id=entry.pk, content=f"{ROUTES}\nSince May.", tags=["vercel"])
    page.get_by_label("Content").fill(f"{ROUTES}\nSince June.")
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_role("heading", name="What is stored now, and what you wrote")).to_be_visible()
    overtaken = findings(page)

    assert known + overtaken == []


def test_without_scripts_an_entry_is_added_found_corrected_and_deleted(visits: Visits) -> None:
    page = visits.by(make_actor().user, javascript=False)

    page.goto(reverse("kb"))
    page.get_by_role("link", name="Add an entry").first.click()
    page.get_by_label("Content").fill(ROUTES)
    page.get_by_label("Tags").fill("vercel, routing")
    page.get_by_role("button", name="Add it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Route ordering in vercel.json")
    page.get_by_role("link", name="Knowledge base").last.click()
    page.get_by_role("searchbox").fill("parameterized routes")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Route ordering").click()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Tags").fill("vercel")
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    tags = Entry.objects.get().tags
    page.get_by_role("link", name="Delete …").click()
    page.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_role("status")).to_contain_text("deleted")

    assert tags == ["vercel"]
    assert not Entry.objects.exists()


def test_the_back_button_returns_to_the_question(visits: Visits) -> None:
    author = make_actor()
    _fill(author, ROUTES)
    page = visits.by(author.user)

    page.goto(reverse("kb"))
    page.get_by_role("link", name="Summaries").click()
    page.get_by_role("searchbox").fill("routes")
    page.get_by_role("button", name="Search").click()
    asked = page.url
    page.get_by_role("heading", level=3).get_by_role("link").first.click()
    page.wait_for_url("**/kb/*-*/")
    page.go_back()

    assert page.url == asked
    assert "entry_type=summary" in asked
    assert "order=newest" not in asked
    expect(page.get_by_role("searchbox")).to_have_value("routes")
    expect(page.get_by_role("link", name="Summaries")).to_have_attribute("aria-current", "page")


def test_the_numbers_of_a_rebuild_move_by_themselves(visits: Visits, admin: Actor) -> None:
    page = visits.by(admin.user)
    page.clock.install()
    page.goto(reverse("embeddings"))
    expect(page.get_by_role("progressbar")).to_be_visible()

    embed_pending()
    page.clock.run_for(16_000)

    expect(page.get_by_role("progressbar")).to_have_count(0)
    assert progress().troubled == 2


def _look_at(page: Page, address: str) -> list[str]:
    page.goto(address)
    return findings(page)

"""Documentation in a browser: for everyone, without scripts, whatever was stored."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from accounts.actor import Actor
from knowledge.indexing.embedding import embed_pending
from knowledge.models import Reference, ReferenceDrift
from knowledge.references.editing import update_reference
from knowledge.references.imports import import_references
from knowledge.references.readers.reference_drafts import CommandForm, Example, Option
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.factories import make_actor
from tests.knowledge.factories import make_draft

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

OPTION = Option(name="--format", short="-f", value="<format>", values=("table", "json"), description="How it looks")
CONTENT = """Lists all users synced from Google Workspace.

**Syntax:**
```
helios gw users list [--format <format>]
```

## Output

| Email | Name |
|---|---|
| `john@example.com` | John Doe |
"""


def _fill(curator: Actor, word: str) -> list[str]:
    """Document a product with `word` wherever a text may stand; return the addresses of all pages that show it."""
    form = CommandForm(name="helios gw users list", syntax="helios gw users list", options=(OPTION,))
    told = {
        "title": f"List users {word}",
        "summary": f"Lists all users {word}",
        "content": f"{CONTENT}\n{word}",
        "category": word[:90],
        "aliases": ("get users", word),
        "keywords": (word[:90],),
        "examples": (Example(description=f"All of them {word}", code=f"helios gw users list {word}", output=word),),
        "related": ("helios gw users get",),
        "source": word,
        "command": form,
    }
    others = [make_draft("helios gw users get"), make_draft("GET /api/v1/users/{id}", kind="api")]

    def run(**more: str) -> None:
        listing = make_draft("helios gw users list", **{**told, **more})
        import_references(curator, collection="helios", title=f"Helios {word}", drafts=[listing, *others], source=word)

    run()
    reference = Reference.objects.get(key="helios gw users list")
    update_reference(curator, reference_id=reference.pk, summary=f"Mine {word}")
    run(content=f"{CONTENT}\nSince version 2. {word}")
    embed_pending()
    drift = ReferenceDrift.objects.get()
    return [
        reverse("docs"),
        f"{reverse('docs')}?query=list+users",
        f"{reverse('docs')}?query=helios+get-users",
        reverse("docs-collection", args=["helios"]),
        reverse("docs-coverage", args=["helios"]),
        reverse("reference", args=[reference.pk]),
        reverse("reference-edit", args=[reference.pk]),
        reverse("reference-versions", args=[reference.pk]),
        reverse("reference-decision", args=[drift.pk]),
    ]


def test_every_page_is_usable_by_everyone(visits: Visits) -> None:
    curator = make_actor(curator=True)
    addresses = _fill(curator, "Helios")
    page = visits.by(curator.user)

    found = [finding for address in addresses if page.goto(address) for finding in findings(page)]

    assert found == []


def test_documentation_without_anything_in_it_is_usable_by_everyone(visits: Visits) -> None:
    page = visits.by(make_actor().user)
    page.goto(reverse("docs"))

    assert findings(page) == []


def test_somebody_finds_the_real_command_and_decides_about_a_drift_without_a_script(visits: Visits) -> None:
    curator = make_actor(curator=True)
    _fill(curator, "Helios")
    page = visits.by(curator.user, javascript=False)

    page.goto(reverse("docs"))
    page.get_by_label("Search the documentation").fill("helios get-users")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_role("link", name="helios gw users list").click()
    page.locator("main").get_by_role("link", name="helios gw users list").first.click()
    page.get_by_role("link", name="Choose the correct text").click()
    page.get_by_role("button", name="Keep the correction").click()

    expect(page.get_by_text("Queue empty. Nothing to decide.")).to_be_visible()

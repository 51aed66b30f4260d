"""The system page in Chromium: for everyone to use, empty and full."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import BackupRun, Call, Role, TaskTally, User, Worker
from accounts.services.task_statistics import tally_task
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.factories import make_key, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ada() -> User:
    """An admin of a BigMind on which nothing has happened yet."""
    return make_user("ada", role=Role.ADMIN)


def _with_a_busy_day(ada: User) -> None:
    key = make_key(ada, label="Nightly import on a machine with a long name", per_minute=30).key
    made = [("memory_semantic_search", "ok", 840.2), ("memory_store_fact", "ok", 12.5), ("kb_search", "error", 5003.0)]
    made += [("memory_get_session_detail", "not_found", 3.2), ("memory_store_fact", "too_many", 0.4)]
    for operation, outcome, milliseconds in made * 3:
        said = {"operation": operation, "outcome": outcome, "milliseconds": milliseconds, "tokens": 420}
        Call.objects.create(user=ada, key=key, transport="mcp", request_id="9f0c1d2e3a4b5c6d", **said)
    tally_task("knowledge.tasks.embed_pending", seconds=0.1, scheduled=True, request_id="1")
    tally_task("knowledge.tasks.keep_indexes", seconds=0.1, scheduled=True, request_id="2")
    tally_task("curation.tasks.send_digests", seconds=9, scheduled=True, request_id="4b5c6d7e", error="SMTPException")
    long_ago = timezone.now() - timedelta(hours=7)
    TaskTally.objects.filter(task="knowledge.tasks.keep_indexes").update(scheduled_at=long_ago, ended_at=long_ago)


@pytest.mark.parametrize("is_busy", [False, True], ids=["nothing yet", "a busy day"])
def test_everyone_can_use_the_page(visits: Visits, ada: User, is_busy: bool) -> None:
    if is_busy:
        _with_a_busy_day(ada)
    page = visits.by(ada)

    page.goto(reverse("home"))
    page.get_by_role("link", name="System", exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_have_text("System")
    assert findings(page) == []


def test_everyone_can_use_the_page_of_backups(visits: Visits, ada: User) -> None:
    folder = "/var/backups/bigmind"
    seen = {"seen_at": timezone.now(), "took_at": timezone.now()}
    Worker.objects.create(name="host-1f3c", folder=folder, **seen)
    BackupRun.objects.create(place=folder, name="bigmind-20261123T020000Z", seconds=41.3, bytes=812_000_000)
    BackupRun.objects.create(place=folder, seconds=0.2, error="The disk: No space left on device.")
    page = visits.by(ada)

    page.goto(reverse("system"))
    page.get_by_role("link", name="All about backups").click()

    expect(page.get_by_text("No space left on device")).to_be_visible()
    expect(page.get_by_role("button", name="Back up now")).to_be_visible()
    assert findings(page) == []


def test_it_leads_to_the_embeddings_and_back_without_a_script(visits: Visits, ada: User) -> None:
    page = visits.by(ada, javascript=False)
    page.goto(reverse("system"))

    page.get_by_role("link", name="Embedding details").click()
    page.get_by_label("Breadcrumbs").get_by_role("link", name="System").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("System")

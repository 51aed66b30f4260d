"""The admin of company knowledge: its actions run the operations of everybody, and its lists stay cheap."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Role, User
from curation.models import Review
from curation.proposals.proposals import revise_proposal
from knowledge.models import CompanyEntry
from tests.curation.factories import approved_entry, propose
from tests.factories import browser_of, make_actor, make_user

pytestmark = pytest.mark.django_db

LIST = "admin:knowledge_companyentry_changelist"


@pytest.fixture
def admin() -> User:
    """An admin."""
    return make_user("root", role=Role.ADMIN)


@pytest.fixture
def browser(admin: User) -> Client:
    """The browser they are signed in with."""
    return browser_of(admin)


def act(browser: Client, action: str, *entries: CompanyEntry, notes: str = "") -> Any:
    form = {"action": action, "_selected_action": [entry.pk for entry in entries], "notes": notes}
    form |= {f"revision-{entry.pk}": entry.revision for entry in entries}
    return browser.post(reverse(LIST), form, follow=True)


def test_an_approval_here_is_kept_in_the_history_like_any_other(browser: Client, admin: User) -> None:
    entry = propose()

    act(browser, "approve", entry, notes="As in ADR 7.")

    review = Review.objects.get(entry=entry, action="approve")
    assert (review.by, review.notes) == (admin, "As in ADR 7.")


def test_a_rejection_without_notes_is_refused_here_too(browser: Client) -> None:
    entry = propose()

    page = act(browser, "reject", entry)

    entry.refresh_from_db()
    assert entry.status == "pending"
    assert "notes is required" in page.text


def test_of_many_each_is_decided_for_itself(browser: Client) -> None:
    pending, approved = propose(), approved_entry()

    page = act(browser, "deprecate", pending, approved)

    approved.refresh_from_db()
    assert approved.status == "deprecated"
    assert f"{pending.handle}: " in page.text


def test_what_changed_since_it_was_listed_or_was_never_listed_is_refused(browser: Client) -> None:
    author = make_actor()
    changed, unread = propose(author), propose()
    revise_proposal(author, entry_id=changed.pk, title="Another title")
    form = {"action": "approve", "_selected_action": [changed.pk, unread.pk], f"revision-{changed.pk}": 1}

    page = browser.post(reverse(LIST), form, follow=True)

    assert "has changed since you read it" in page.text
    assert f"revision is required: C{unread.pk}" in page.text
    assert not CompanyEntry.objects.approved().exists()


def test_nothing_is_reworded_here(browser: Client) -> None:
    entry = propose()

    response = browser.post(reverse("admin:knowledge_companyentry_change", args=[entry.pk]), {"title": "Mine"})

    assert response.status_code == 403


@pytest.mark.parametrize("name", [LIST, "admin:curation_review_changelist"])
def test_a_list_takes_the_same_queries_however_long_it_is(browser: Client, name: str) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            browser.get(reverse(name))
        return len(captured)

    approved_entry(make_actor())
    queries()
    few = queries()
    for _ in range(12):
        approved_entry(make_actor())

    assert queries() == few

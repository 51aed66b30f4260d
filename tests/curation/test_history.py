"""The history of company knowledge: it only grows, and a change made past the database's guard is found."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from curation.decisions.history import find_broken_seals
from curation.models import Review
from knowledge.models import CompanyEntry
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor
from tests.meanwhile import meanwhile

pytestmark = pytest.mark.django_db


@contextmanager
def past_the_guard() -> Iterator[None]:
    """Do something as somebody who may switch the guards of the database off."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE curation_review DISABLE TRIGGER curation_review_only_grows")
        yield
        cursor.execute("ALTER TABLE curation_review ENABLE TRIGGER curation_review_only_grows")


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.update(notes="Nothing happened."),
        lambda rows: rows.update(by_name="Somebody else"),
        lambda rows: rows.update(after={}),
        lambda rows: rows.delete(),
    ],
)
def test_the_database_refuses_to_change_or_delete_a_row(change: Callable[..., object]) -> None:
    entry = propose()

    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        change(Review.objects.filter(entry=entry))


def test_the_name_of_somebody_who_was_erased_may_be_taken_away() -> None:
    entry = approved_entry()

    Review.objects.filter(entry=entry).update(by=None, by_name="", agent_name="")

    assert list(find_broken_seals()) == []


def test_a_row_that_was_changed_past_the_guard_is_found() -> None:
    entry = approved_entry()
    with past_the_guard():
        Review.objects.filter(entry=entry, number=1).update(notes="Forged.")

    found = [(broken.entry_id, broken.number) for broken in find_broken_seals()]

    assert (entry.pk, 1) in found


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_row_that_was_removed_past_the_guard_is_found(number: int) -> None:
    entry = approved_entry()
    decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="verify")
    with past_the_guard():
        Review.objects.filter(entry=entry, number=number).delete()

    assert [broken.entry_id for broken in find_broken_seals()] == [entry.pk]


def test_a_status_set_past_the_history_is_found() -> None:
    entry = propose()
    CompanyEntry.objects.filter(pk=entry.pk).update(status="approved", revision=2)

    assert [broken.entry_id for broken in find_broken_seals()] == [entry.pk]


def test_a_text_changed_past_the_history_is_found() -> None:
    entry = approved_entry()
    CompanyEntry.objects.filter(pk=entry.pk).update(content="Something else.")

    assert [broken.entry_id for broken in find_broken_seals()] == [entry.pk]


def test_the_command_says_that_all_is_well_and_fails_when_it_is_not() -> None:
    entry, said = approved_entry(), StringIO()
    call_command("audit_verify", stdout=said)
    with past_the_guard():
        Review.objects.filter(entry=entry, number=2).update(notes="Forged.")

    with pytest.raises(CommandError, match="was altered"):
        call_command("audit_verify", stdout=StringIO())

    assert "2 decisions checked, 0 broken" in said.getvalue()


def test_what_is_decided_while_the_history_is_checked_is_no_alteration() -> None:
    entry, curator = approved_entry(), make_actor(curator=True)

    def decide() -> None:
        propose()
        decide_at_latest(curator, entry_id=entry.pk, action="verify")

    with meanwhile(decide, after="SELECT"):
        found = list(find_broken_seals())

    assert found == []

"""Approved entries that repeat or contradict each other, and those that nobody used, wait in the queue."""

from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from curation.decisions.overlaps import find_overlaps
from curation.models import Overlap
from curation.proposals.queue import list_queue, queue_summary
from knowledge.models import CompanyEntry, Proof
from tests.curation.factories import approved_entry, decide_at_latest
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

ONCE = "Invoices of the freight service are sent by the billing worker before midnight."
AGAIN = "The billing worker sent invoices of the freight service before midnight."
ALLOWED = "Deploys to production are allowed on Fridays for every team."
FORBIDDEN = "Deploys to production are never allowed on Fridays for any team."


def numbers(why: str) -> list[int]:
    return [item.entry.pk for item in list_queue(make_actor(curator=True), why=why, order="oldest").items]


def test_approved_entries_that_say_the_same_wait_until_a_curator_settles_it():
    first, second = approve(ONCE), approve(AGAIN)
    approve("Backups are restored in Lisbon every spring.")
    assert numbers("overlapping") == []

    assert find_overlaps() == 1
    assert numbers("overlapping") == [second.pk]
    assert queue_summary().overlapping == 1
    assert find_overlaps() == 1

    decide_at_latest(make_actor(curator=True), entry_id=second.pk, action="verify")
    assert numbers("overlapping") == []
    assert find_overlaps() == 0

    Overlap.objects.update(found_at=timezone.now())
    decide_at_latest(make_actor(curator=True), entry_id=first.pk, action="deprecate", notes="Outdated.")
    assert numbers("overlapping") == []


def test_what_a_curator_kept_beside_another_on_purpose_is_not_found_again():
    first = approve(ALLOWED)
    curator = make_actor(curator=True)
    second = approve("Something else altogether is written down here.")

    decide_at_latest(curator, entry_id=second.pk, action="edit", content=FORBIDDEN, despite=[first.pk])

    assert find_overlaps() == 0
    assert Overlap.objects.get().settled_at is not None


def test_entries_that_drift_apart_no_longer_overlap():
    approve(ONCE)
    second = approve(AGAIN)
    find_overlaps()

    with override_settings(BIGMIND_MODE="team"):
        text = "The office in Lisbon opens at nine."
        decide_at_latest(make_actor(curator=True), entry_id=second.pk, action="edit", content=text)

    assert find_overlaps() == 0
    assert not Overlap.objects.exists()


def test_an_entry_that_many_sessions_were_told_and_hardly_any_used_waits_unless_it_was_verified_lately():
    unused, used = approve(ALLOWED), approve("Invoices are numbered per year.")
    Proof.objects.create(entry=unused, served=40, answered=25, people=12)
    Proof.objects.create(entry=used, served=40, answered=25, people=12, cited=4)
    CompanyEntry.objects.update(verified_at=timezone.now() - timedelta(days=120))

    assert numbers("unused") == [unused.pk]
    decide_at_latest(make_actor(curator=True), entry_id=unused.pk, action="verify")
    assert numbers("unused") == []


def approve(content: str) -> CompanyEntry:
    return approved_entry(title=" ".join(content.split()[-4:]), content=content)

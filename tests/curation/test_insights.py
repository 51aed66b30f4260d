"""Insights into curation: how long a first decision takes, who decides, and who is told of it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from curation.services.insights import look_at_curation
from knowledge.models import CompanyEntry
from tests.curation.factories import approved_entry, propose
from tests.factories import make_actor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]


def _waited(entry: CompanyEntry, hours: float) -> CompanyEntry:
    CompanyEntry.objects.filter(pk=entry.pk).update(created_at=timezone.now() - timedelta(hours=hours))
    return entry


def test_curators_see_who_decided_and_members_only_what_enough_others_proposed():
    curator, reader, others = make_actor(curator=True), make_actor(), [make_actor() for _ in range(3)]
    for other in others[:2]:
        approved_entry(other, curator=curator)

    assert look_at_curation(reader, whose="everybody").steps[-1].approved is None
    assert look_at_curation(curator, whose="everybody").steps[-1].approved == 2

    approved_entry(others[2], curator=curator)

    seen = look_at_curation(reader, whose="everybody")
    assert (seen.steps[-1].approved, seen.steps[-1].proposed, seen.reviewers) == (3, 3, None)
    (reviewer,) = look_at_curation(curator, whose="everybody").reviewers
    assert (reviewer.name, reviewer.approved) == (str(curator.user), 3)
    assert look_at_curation(reader).decided == 0


@pytest.mark.parametrize("days", [1, 7, 30, 90])
def test_every_day_lies_in_a_step(days):
    _waited(propose(admin := make_actor(admin=True)), 24 * (days - 1))

    assert look_at_curation(admin, days=days, whose="everybody").proposed == 1

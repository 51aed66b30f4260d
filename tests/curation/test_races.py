"""Many at once on the same entry: one decision holds, and the others are told what happened (T8)."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from bigmind.core.errors import BigMindError
from curation.decisions.history import find_broken_seals
from curation.models import Review
from curation.proposals.blast_radius import blast_radius
from curation.proposals.proposals import promote_to_global
from knowledge.models import CompanyEntry, Kind, Passage
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor
from tests.lock_waits import at_once, meanwhile

pytestmark = pytest.mark.django_db(transaction=True)

CONTENDERS = 12


def _all_at_once(act: Callable[[int], Any]) -> Counter[str]:
    """Return how often each outcome came, of as many threads that begin at the same moment."""

    def contend(number: int) -> str:
        try:
            act(number)
        except BigMindError as refusal:
            return refusal.code
        return "done"

    return Counter(at_once(contend, range(CONTENDERS)))


def test_of_many_curators_who_decide_at_once_one_does_and_the_others_are_told() -> None:
    entry = propose()
    curators = [make_actor(curator=True) for _ in range(CONTENDERS)]
    decisions = ["approve", "reject"]

    outcomes = _all_at_once(
        lambda n: decide_at_latest(
            curators[n], entry_id=entry.pk, action=decisions[n % 2], notes="Because.", revision=1
        )
    )

    assert outcomes == {"done": 1, "conflict": CONTENDERS - 1}
    assert Review.objects.filter(entry=entry).count() == 2
    assert list(find_broken_seals()) == []


def test_the_same_proposal_made_at_once_by_one_person_is_made_once(actor):
    outcomes = _all_at_once(
        lambda n: promote_to_global(actor, category="standard", title=f"Title {n}", content="Answer /healthz.")
    )

    assert outcomes == {"done": CONTENDERS}
    assert CompanyEntry.objects.count() == 1


def test_of_twins_approved_at_once_one_is_approved() -> None:
    twins = [propose(content="Answer /healthz.") for _ in range(CONTENDERS)]
    curator = make_actor(curator=True)

    outcomes = _all_at_once(lambda n: decide_at_latest(curator, entry_id=twins[n].pk, action="approve"))

    assert outcomes == {"done": 1, "conflict": CONTENDERS - 1}
    assert Passage.objects.filter(kind=Kind.COMPANY).count() == 1


def test_merges_into_each_other_at_once_end() -> None:
    entries = [approved_entry() for _ in range(2)]
    curator = make_actor(curator=True)

    outcomes = _all_at_once(
        lambda n: decide_at_latest(curator, entry_id=entries[n % 2].pk, action="supersede", into=entries[1 - n % 2].pk)
    )

    assert outcomes == {"done": 1, "conflict": CONTENDERS - 1}
    assert CompanyEntry.objects.approved().count() == 1


def test_an_approval_while_it_is_tried_fails_neither() -> None:
    entry, curator = propose(), make_actor(curator=True)

    tried = meanwhile(
        lambda: decide_at_latest(curator, entry_id=entry.pk, action="approve"),
        lambda: blast_radius(make_actor(curator=True), entry_ids=[entry.pk], action="approve"),
    )

    assert tried.verb
    assert Passage.objects.filter(kind="company", source_id=str(entry.pk)).count() == 1

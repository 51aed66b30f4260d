"""Feedback: complaints bring company knowledge back to the curators, and move the confidence of shared entries."""

import pytest

from bigmind.core.errors import NotFound
from curation.proposals.queue import list_queue
from knowledge.models import Entry, Feedback
from knowledge.services.entries import add_entry
from knowledge.services.facts import store_fact
from knowledge.services.feedback import give_feedback
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


def test_an_entry_that_an_agent_calls_wrong_is_back_in_the_queue() -> None:
    entry, curator = approved_entry(), make_actor(curator=True)

    told = give_feedback(make_actor(), kind="company", id=entry.handle, verdict="wrong", note="It is /livez now.")

    (waiting,) = list_queue(curator, why="reported").items
    assert (waiting.entry, waiting.complaints) == (entry, 1)
    assert "queue" in told.consequence


def test_a_complaint_is_settled_when_a_curator_verifies() -> None:
    entry, curator = approved_entry(), make_actor(curator=True)
    give_feedback(make_actor(), kind="company", id=str(entry.pk), verdict="outdated")

    decide_at_latest(curator, entry_id=entry.pk, action="verify")

    assert list_queue(curator, why="reported").total == 0


def test_one_person_has_one_voice_however_often_they_speak() -> None:
    entry, actor = approved_entry(), make_actor()

    for verdict in ("wrong", "wrong", "outdated"):
        give_feedback(actor, kind="company", id=str(entry.pk), verdict=verdict)

    assert Feedback.objects.get().verdict == "outdated"


def test_the_confidence_of_a_shared_entry_moves_by_one_voice_each() -> None:
    entry = add_entry(make_actor(), content="Routes are ordered.", entry_type="fact", confidence=0.8).entry
    actor = make_actor()

    for _ in range(50):
        give_feedback(actor, kind="entry", id=str(entry.pk), verdict="wrong")

    assert Entry.objects.get().confidence == pytest.approx(0.6)


def test_what_others_own_cannot_be_spoken_of() -> None:
    fact = store_fact(make_actor(), category="decision", fact="Theirs.").fact
    proposal = propose()

    for kind, number in (("fact", fact.pk), ("company", proposal.pk)):
        with pytest.raises(NotFound):
            give_feedback(make_actor(), kind=kind, id=str(number), verdict="useful")

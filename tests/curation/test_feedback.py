"""Feedback: complaints bring company knowledge back to the curators, and move the confidence of shared entries."""

from typing import Any

import pytest

from accounts.actor import Actor
from accounts.models import SCOPES
from bigmind.core.errors import NotFound
from curation.proposals.queue import list_queue
from knowledge.exposures.feedback import give_feedback
from knowledge.kb.entries import add_entry
from knowledge.memory.facts import store_fact
from knowledge.models import Entry
from knowledge.references.search import voices_of
from tests.curation.factories import approved_entry, propose
from tests.factories import make_actor, make_agent, make_key, make_user
from tests.knowledge.factories import make_reference

pytestmark = pytest.mark.django_db


def test_an_entry_that_an_agent_calls_wrong_is_back_in_the_queue() -> None:
    entry, curator = approved_entry(), make_actor(curator=True)

    told = give_feedback(make_actor(), kind="company", id=entry.handle, verdict="wrong", note="It is /livez now.")

    for why in (None, "reported"):
        (waiting,) = list_queue(curator, why=why).items
        assert (waiting.entry, waiting.complaints, waiting.why) == (entry, 1, "reported")
    assert "queue" in told.consequence


def test_the_queue_shows_what_was_proposed_beside_what_was_reported() -> None:
    reported, proposed, curator = approved_entry(), propose(), make_actor(curator=True)
    approved_entry()
    give_feedback(make_actor(), kind="company", id=reported.handle, verdict="wrong")

    waiting = list_queue(curator).items

    assert {(item.entry.pk, item.why) for item in waiting} == {(reported.pk, "reported"), (proposed.pk, "proposed")}


@pytest.mark.parametrize(
    ("confidence", "first", "then", "moved"),
    [(1.0, "useful", "wrong", 0.8), (0.0, "wrong", "useful", 0.05), (0.5, "useful", "wrong", 0.3)],
)
def test_a_changed_mind_counts_no_more_than_a_first_verdict(confidence, first, then, moved):
    entry = add_entry(make_actor(), content="Routes are ordered.", entry_type="fact", confidence=confidence).entry
    actor = make_actor()

    for verdict in (first, then):
        give_feedback(actor, kind="entry", id=str(entry.pk), verdict=verdict)

    assert Entry.objects.get().confidence == pytest.approx(moved)


def test_nobody_makes_their_own_entry_more_certain(settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    author = make_actor()
    entry = add_entry(author, content="Routes are ordered.", entry_type="fact", confidence=0.5).entry

    for number in range(3):
        agent = make_agent(author.user, f"client {number}").agent
        voice = Actor.of(author.user, key=make_key(author.user, scopes=SCOPES).key, agent=agent)
        told = give_feedback(voice, kind="entry", id=str(entry.pk), verdict="useful")

    assert Entry.objects.get().confidence == 0.5
    assert "what others say" in told.consequence


def test_many_keys_and_agents_of_one_person_are_one_voice() -> None:
    entry = add_entry(make_actor(), content="Routes are ordered.", entry_type="fact", confidence=0.8).entry
    reference, user = make_reference(), make_user()

    for number in range(5):
        agent = make_agent(user, f"client {number}").agent
        voice = Actor.of(user, key=make_key(user, scopes=SCOPES).key, agent=agent)
        for kind, thing in (("entry", entry), ("reference", reference)):
            give_feedback(voice, kind=kind, id=str(thing.pk), verdict="wrong")

    assert Entry.objects.get().confidence == pytest.approx(0.6)
    assert voices_of([reference.pk])[reference.pk].wrong == 1


def test_what_others_own_cannot_be_spoken_of() -> None:
    fact = store_fact(make_actor(), category="decision", fact="Theirs.").fact
    proposal = propose()

    for kind, number in (("fact", fact.pk), ("company", proposal.pk)):
        with pytest.raises(NotFound):
            give_feedback(make_actor(), kind=kind, id=str(number), verdict="useful")

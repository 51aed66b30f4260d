"""Hypotheses: believed, then confirmed, refuted or abandoned."""

import pytest
from django.db import IntegrityError

from bigmind.core.errors import Conflict
from knowledge.models import Hypothesis
from knowledge.services.hypotheses import add_hypothesis, correct_hypothesis, list_hypotheses, resolve_hypothesis
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


def test_a_belief_is_open_until_it_is_resolved_once():
    actor = make_actor()
    belief = add_hypothesis(actor, hypothesis="The leak is in the pool because counts rise.")

    resolved = resolve_hypothesis(actor, hypothesis_id=belief.pk, status="refuted", resolution="It was the cache.")

    assert (belief.status, belief.confidence) == ("open", 0.7)
    assert (resolved.status, resolved.resolution) == ("refuted", "It was the cache.")
    with pytest.raises(Conflict, match="refuted already"):
        resolve_hypothesis(actor, hypothesis_id=belief.pk, status="confirmed", resolution="No.")


def test_beliefs_are_listed_by_status():
    actor = make_actor()
    still_open = add_hypothesis(actor, hypothesis="A")
    gone = add_hypothesis(actor, hypothesis="B")
    resolve_hypothesis(actor, hypothesis_id=gone.pk, status="abandoned", resolution="Moved on.")

    assert list(list_hypotheses(actor, status="open").items) == [still_open]
    assert list(list_hypotheses(actor, status="abandoned").items) == [gone]
    assert list_hypotheses(actor).total == 2


def test_how_it_was_believed_cannot_be_changed_afterwards():
    actor = make_actor()
    belief = add_hypothesis(actor, hypothesis="A", confidence=0.9)
    correct_hypothesis(actor, hypothesis_id=belief.pk, confidence=0.8)
    resolve_hypothesis(actor, hypothesis_id=belief.pk, status="refuted", resolution="No.")

    with pytest.raises(Conflict):
        correct_hypothesis(actor, hypothesis_id=belief.pk, confidence=0.1)
    assert Hypothesis.objects.get().confidence == 0.8


def test_the_database_itself_knows_the_statuses():
    belief = add_hypothesis(make_actor(), hypothesis="A")

    with pytest.raises(IntegrityError):
        Hypothesis.objects.filter(pk=belief.pk).update(status="certain")

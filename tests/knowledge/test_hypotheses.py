"""Hypotheses: believed, then confirmed, refuted or abandoned."""

from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor, acts
from bigmind.core.errors import Conflict
from knowledge.memory.calibration import track_records
from knowledge.memory.hypotheses import add_hypothesis, correct_hypothesis, list_hypotheses, resolve_hypothesis
from knowledge.models import Hypothesis
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_hypothesis

pytestmark = pytest.mark.django_db


def days_ago(days: int) -> datetime:
    return timezone.now() - timedelta(days=days)


def test_a_belief_is_open_until_it_is_resolved_once(actor):
    belief = add_hypothesis(actor, hypothesis="The leak is in the pool because counts rise.")

    resolved = resolve_hypothesis(actor, hypothesis_id=belief.pk, status="refuted", resolution="It was the cache.")

    assert (belief.status, belief.confidence) == ("open", 0.7)
    assert (resolved.status, resolved.resolution) == ("refuted", "It was the cache.")
    with pytest.raises(Conflict, match="refuted already"):
        resolve_hypothesis(actor, hypothesis_id=belief.pk, status="confirmed", resolution="No.")


def test_beliefs_are_listed_by_status(actor):
    still_open = add_hypothesis(actor, hypothesis="A")
    gone = add_hypothesis(actor, hypothesis="B")
    resolve_hypothesis(actor, hypothesis_id=gone.pk, status="abandoned", resolution="Moved on.")

    assert list(list_hypotheses(actor, status="open").items) == [still_open]
    assert list(list_hypotheses(actor, status="abandoned").items) == [gone]
    assert list_hypotheses(actor).total == 2


def test_how_it_was_believed_cannot_be_changed_afterwards(actor):
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


def test_a_belief_is_due_on_its_date_or_after_a_month(actor):
    early = add_hypothesis(actor, hypothesis="The cache is cold at nine.", check_in_days=3)
    usual = add_hypothesis(actor, hypothesis="The pool leaks.")
    assert (early.due_on, usual.due_on) == (days_ago(-3).date(), days_ago(-30).date())
    assert list_hypotheses(actor, due=True).total == 0

    Hypothesis.objects.filter(pk=early.pk).update(check_on=days_ago(1).date())
    assert list(list_hypotheses(actor, due=True).items) == [early]
    Hypothesis.objects.filter(pk=usual.pk).update(created_at=days_ago(31))
    assert set(list_hypotheses(actor, due=True).items) == {early, usual}

    resolve_hypothesis(actor, hypothesis_id=early.pk, status="confirmed", resolution="It was.")
    assert list(list_hypotheses(actor, due=True).items) == [usual]
    assert correct_hypothesis(actor, hypothesis_id=usual.pk, check_in_days=7).due_on == days_ago(-7).date()
    assert list_hypotheses(actor, due=True).total == 0


def test_an_agent_hears_how_often_it_was_right_when_it_was_as_sure():
    user = make_user()
    claude, codex = make_agent(user, "claude-code"), make_agent(user, "codex")
    for agent, status in ((claude, "confirmed"), (claude, "confirmed"), (codex, "refuted"), (claude, "refuted")):
        belief = believe(agent, confidence=0.88)
        assert belief.track_record is None
        resolve_hypothesis(agent, hypothesis_id=belief.pk, status=status, resolution="Seen.")
    abandoned = believe(claude, confidence=0.9)
    resolve_hypothesis(claude, hypothesis_id=abandoned.pk, status="abandoned", resolution="Moved on.")

    record = believe(claude, confidence=0.93).track_record

    assert (record.agent, record.confidence, record.confirmed, record.decided) == ("claude-code", 0.9, 2, 3)
    assert believe(claude, confidence=0.6).track_record is None
    assert [(one.agent, one.confirmed, one.decided) for one in track_records(user)] == [
        ("claude-code", 2, 3),
        ("codex", 0, 1),
    ]
    assert track_records(make_user()) == []


def believe(agent: Actor, *, confidence: float) -> Hypothesis:
    with acts(agent):
        return add_hypothesis(agent, hypothesis=f"Belief {Hypothesis.objects.count()}", confidence=confidence)


def test_a_belief_is_added_corrected_resolved_once_and_listed_by_its_status(browser, actor):
    typed = {"hypothesis": "It is the cash.", "confidence": "0.55"}
    added = browser.post(reverse("memory-hypothesis-new"), typed, follow=True)
    belief = Hypothesis.objects.get()
    own, resolve = (reverse(name, args=[belief.pk]) for name in ("memory-hypothesis", "memory-hypothesis-resolve"))
    browser.post(own, {"hypothesis": "It is the cache.", "confidence": "0.9"})
    resolved = browser.post(resolve, {"status": "confirmed", "resolution": "Seen in the log."}, follow=True)
    browser.post(resolve, {"status": "refuted", "resolution": "No."})
    make_hypothesis(actor, "It is the network.")

    still_open = browser.get(reverse("memory-hypotheses"), {"status": "open"})

    assert "unsure (0.55)" in added.text
    assert "The hypothesis is confirmed." in resolved.text
    assert "Seen in the log." in resolved.text
    belief.refresh_from_db()
    assert (belief.hypothesis, belief.confidence, belief.status) == ("It is the cache.", 0.9, "confirmed")
    assert "It is the network." in still_open.text
    assert "It is the cache." not in still_open.text


@pytest.mark.parametrize(
    ("typed", "says"),
    [("1.5", "must be 1 or less"), ("much", "must be a number"), ("nan", "must be a finite number")],
)
def test_a_confidence_that_is_none_is_explained(browser, typed, says):
    page = browser.post(reverse("memory-hypothesis-new"), {"hypothesis": "It is the cache.", "confidence": typed})

    assert f"Confidence: This {says}." in page.text
    assert f'value="{typed}"' in page.text

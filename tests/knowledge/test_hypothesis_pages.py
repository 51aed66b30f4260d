"""Hypotheses: listed by status, added, corrected, resolved."""

import pytest
from django.urls import reverse

from knowledge.memory.hypotheses import resolve_hypothesis
from knowledge.models import Hypothesis
from tests.knowledge.factories import make_hypothesis

pytestmark = pytest.mark.django_db


def test_beliefs_are_listed_by_status(browser, actor):
    make_hypothesis(actor, "It is the cache.")
    refuted = make_hypothesis(actor, "It is the network.")
    resolve_hypothesis(actor, hypothesis_id=refuted.pk, status="refuted", resolution="It was not.")

    page = browser.get(reverse("memory-hypotheses"), {"status": "open"})

    assert "It is the cache." in page.text
    assert "It is the network." not in page.text


def test_a_belief_is_added_with_how_sure_one_is(browser):
    page = browser.post(
        reverse("memory-hypothesis-new"), {"hypothesis": "It is the cache.", "confidence": "0.55"}, follow=True
    )

    assert "unsure (0.55)" in page.text
    assert Hypothesis.objects.get().confidence == 0.55


@pytest.mark.parametrize(
    ("typed", "says"),
    [("1.5", "must be 1 or less"), ("much", "must be a number"), ("nan", "must be a finite number")],
)
def test_a_confidence_that_is_none_is_explained(browser, typed, says):
    page = browser.post(reverse("memory-hypothesis-new"), {"hypothesis": "It is the cache.", "confidence": typed})

    assert f"Confidence: This {says}." in page.text
    assert f'value="{typed}"' in page.text


def test_a_belief_is_corrected_while_it_is_open(browser, actor):
    belief = make_hypothesis(actor, "It is the cash.")

    browser.post(
        reverse("memory-hypothesis", args=[belief.pk]), {"hypothesis": "It is the cache.", "confidence": "0.9"}
    )

    belief.refresh_from_db()
    assert (belief.hypothesis, belief.confidence) == ("It is the cache.", 0.9)


def test_a_belief_is_resolved_with_what_happened(browser, actor):
    belief = make_hypothesis(actor)

    page = browser.post(
        reverse("memory-hypothesis-resolve", args=[belief.pk]),
        {"status": "confirmed", "resolution": "Seen in the log."},
        follow=True,
    )

    assert "The hypothesis is confirmed." in page.text
    assert "Seen in the log." in page.text


def test_a_belief_is_not_resolved_twice(browser, actor):
    belief = make_hypothesis(actor)
    resolve_hypothesis(actor, hypothesis_id=belief.pk, status="refuted", resolution="No.")

    browser.post(reverse("memory-hypothesis-resolve", args=[belief.pk]), {"status": "confirmed", "resolution": "Yes."})

    belief.refresh_from_db()
    assert (belief.status, belief.resolution) == ("refuted", "No.")

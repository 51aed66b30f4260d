"""Facts: listed, corrected, added."""

import pytest
from django.urls import reverse

from knowledge.memory.facts import deprecate_fact
from knowledge.models import Fact
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db


def test_a_category_that_does_not_exist_is_explained(browser):
    page = browser.get(reverse("memory-facts"), {"category": "gossip"})

    assert page.status_code == 200
    assert "Category: This must be one of" in page.text


def test_a_corrected_fact_is_told_in_its_new_wording(browser, actor):
    fact = make_fact(actor, "CI uses Jenkins.", category="decision")

    page = browser.post(
        reverse("memory-fact", args=[fact.pk]),
        {"fact": "CI uses Actions.\r\nSince May.", "category": "codebase"},
        follow=True,
    )

    assert "Corrected." in page.text
    assert Fact.objects.current().get().fact == "CI uses Actions.\nSince May."
    assert Fact.objects.current().get().category == "codebase"


def test_what_was_typed_stays_when_it_is_refused(browser, actor):
    fact = make_fact(actor)
    typed = "x" * 70_000

    page = browser.post(reverse("memory-fact", args=[fact.pk]), {"fact": typed, "category": "identity"})

    assert page.status_code == 200
    assert (
        '<a href="#id_fact">Fact: This is 70,000 bytes; the limit is 65,536. Split it or shorten it.</a>' in page.text
    )
    assert typed in page.text
    assert '<option value="identity" selected>' in page.text


def test_a_fact_that_was_set_aside_meanwhile_is_not_corrected(browser, actor):
    fact = make_fact(actor)
    deprecate_fact(actor, fact_id=fact.pk, reason="Wrong.")

    page = browser.post(reverse("memory-fact", args=[fact.pk]), {"fact": "Other.", "category": "identity"})

    assert Fact.objects.current().count() == 0
    assert "Wrong." in page.text
    assert "Restore" in page.text


def test_an_empty_fact_is_asked_for_again(browser):
    page = browser.post(reverse("memory-fact-new"), {"fact": " \r\n ", "category": "preference"})

    assert "Fact: This field is required." in page.text
    assert Fact.objects.count() == 0

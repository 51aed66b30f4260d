"""Facts: listed, corrected, added."""

import pytest
from django.urls import reverse

from knowledge.memory.facts import correct_fact, deprecate_fact
from knowledge.models import Fact
from tests.factories import make_actor
from tests.knowledge.factories import make_fact, make_facts, make_session

pytestmark = pytest.mark.django_db


def test_a_fact_is_shown_with_what_is_known_about_it(client):
    actor = make_actor()
    session = make_session(actor, one_liner="Moved the build")
    make_fact(
        actor, "Wheels are cached.", category="codebase", confidence=0.7, project="atlas", source_session=session.handle
    )
    client.force_login(actor.user)

    page = client.get(reverse("memory-facts"))

    for shown in ("Wheels are cached.", "codebase", "fairly sure (0.7)", "atlas", "Moved the build"):
        assert shown in page.text


def test_the_address_narrows_the_list_and_the_form_remembers_it(client):
    actor = make_actor()
    make_fact(actor, "Prefers pytest.", category="preference", project="atlas")
    make_fact(actor, "Prefers tabs.", category="preference", project="bigmind")
    make_fact(actor, "Is called Ada.", category="identity", project="atlas")
    client.force_login(actor.user)

    page = client.get(reverse("memory-facts"), {"category": "preference", "project": "atlas", "text": "PYTEST"})

    assert "Prefers pytest." in page.text
    assert "Prefers tabs." not in page.text
    assert "Is called Ada." not in page.text
    assert '<option value="atlas" selected>' in page.text
    assert 'value="PYTEST"' in page.text


def test_a_long_list_is_paged_and_keeps_its_conditions(client):
    actor = make_actor()
    make_facts(actor, [f"Prefers number {number}." for number in range(51)])
    client.force_login(actor.user)

    first = client.get(reverse("memory-facts"), {"category": "preference"})
    second = client.get(reverse("memory-facts"), {"category": "preference", "offset": "50"})
    beyond = client.get(reverse("memory-facts"), {"offset": "5000"})

    assert "1 to 50 of 51 facts" in first.text
    assert 'href="?category=preference&amp;offset=50"' in first.text
    assert "Prefers number 0." in second.text
    assert "Back to its beginning" in beyond.text


def test_a_category_that_does_not_exist_is_explained(client):
    client.force_login(make_actor().user)

    page = client.get(reverse("memory-facts"), {"category": "gossip"})

    assert page.status_code == 200
    assert "Category: This must be one of" in page.text


def test_a_corrected_fact_is_told_in_its_new_wording(client):
    actor = make_actor()
    fact = make_fact(actor, "CI uses Jenkins.", category="decision")
    client.force_login(actor.user)

    page = client.post(
        reverse("memory-fact", args=[fact.pk]),
        {"fact": "CI uses Actions.\r\nSince May.", "category": "codebase"},
        follow=True,
    )

    assert "Corrected." in page.text
    assert Fact.objects.current().get().fact == "CI uses Actions.\nSince May."
    assert Fact.objects.current().get().category == "codebase"


def test_what_was_typed_stays_when_it_is_refused(client):
    actor = make_actor()
    fact = make_fact(actor)
    typed = "x" * 70_000
    client.force_login(actor.user)

    page = client.post(reverse("memory-fact", args=[fact.pk]), {"fact": typed, "category": "identity"})

    assert page.status_code == 200
    assert (
        '<a href="#id_fact">Fact: This is 70,000 bytes; the limit is 65,536. Split it or shorten it.</a>' in page.text
    )
    assert typed in page.text
    assert '<option value="identity" selected>' in page.text


def test_a_fact_that_was_set_aside_meanwhile_is_not_corrected(client):
    actor = make_actor()
    fact = make_fact(actor)
    deprecate_fact(actor, fact_id=fact.pk, reason="Wrong.")
    client.force_login(actor.user)

    page = client.post(reverse("memory-fact", args=[fact.pk]), {"fact": "Other.", "category": "identity"})

    assert Fact.objects.current().count() == 0
    assert "Wrong." in page.text
    assert "Restore" in page.text


def test_a_corrected_fact_points_to_its_successor(client):
    actor = make_actor()
    old = make_fact(actor, "CI uses Jenkins.")
    new = correct_fact(actor, fact_id=old.pk, fact="CI uses Actions.")
    client.force_login(actor.user)

    page = client.get(reverse("memory-fact", args=[old.pk]))

    assert reverse("memory-fact", args=[new.pk]) in page.text


def test_a_fact_can_be_added_by_hand_but_not_twice(client):
    client.force_login(make_actor().user)
    typed = {"fact": "Prefers pytest.", "category": "preference", "project": "atlas"}

    first = client.post(reverse("memory-fact-new"), typed, follow=True)
    second = client.post(reverse("memory-fact-new"), typed, follow=True)

    assert "Stored." in first.text
    assert "known already" in second.text
    assert Fact.objects.get().project == "atlas"


def test_an_empty_fact_is_asked_for_again(client):
    client.force_login(make_actor().user)

    page = client.post(reverse("memory-fact-new"), {"fact": " \r\n ", "category": "preference"})

    assert "Fact: This field is required." in page.text
    assert Fact.objects.count() == 0

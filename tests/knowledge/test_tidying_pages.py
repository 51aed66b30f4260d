"""The page “Tidy up”."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.actor import Actor
from knowledge.models import Fact
from knowledge.tidying.answers import tidy
from tests.factories import make_actor
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db
PAGE = "memory-tidy"


def test_near_duplicates_are_merged_on_the_page_and_brought_back(client: Client):
    actor = sign_in(client)
    first = make_fact(actor, "Deploys happen on Tuesdays at nine.", category="codebase")
    second = make_fact(actor, "Deploys happen on Tuesdays at nine!", category="codebase")
    page = client.get(reverse(PAGE)).content.decode()
    assert first.fact in page
    assert second.fact in page
    (suggestion,) = tidy(actor).suggestions

    sent = {"id": suggestion.key, "action": "merge", "holds": str(first.number), "text": ""}
    shown = client.post(reverse(PAGE), sent, follow=True).content.decode()

    assert "Merged" in shown
    assert list(Fact.objects.current()) == [first]
    shown = client.post(reverse(PAGE), {"undo": suggestion.key}, follow=True).content.decode()
    assert "Taken back." in shown
    assert Fact.objects.current().count() == 2


def test_nothing_is_chosen_in_advance_and_a_merge_without_a_choice_asks_for_it(client: Client):
    actor = sign_in(client)
    make_fact(actor, "Deploys happen on Tuesdays at nine.", category="codebase")
    make_fact(actor, "Deploys happen on Tuesdays at nine!", category="codebase")
    (suggestion,) = tidy(actor).suggestions

    page = client.get(reverse(PAGE)).content.decode()
    refused = client.post(reverse(PAGE), {"id": suggestion.key, "action": "merge"}).content.decode()

    assert 'name="holds"' in page
    assert "checked" not in page
    assert "Choose which one stays." in refused
    assert Fact.objects.current().count() == 2


def test_a_refused_answer_says_why(client: Client):
    sign_in(client)

    refused = client.post(reverse(PAGE), {"id": "0" * 12, "action": "keep"})
    nonsense = client.post(reverse(PAGE), {"id": "x", "action": "eat"})

    assert "no suggestion" in refused.content.decode()
    assert nonsense.status_code == 200
    assert "Not saved" in nonsense.content.decode()


def sign_in(client: Client) -> Actor:
    actor = make_actor()
    client.force_login(actor.user)
    return actor

"""Sample content: marked as such, no step of a newcomer, and gone without a trace in one click."""

import json
from typing import Any

import pytest
from django.apps import apps
from django.core import serializers
from django.test import Client

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.errors import Conflict
from curation.services.sample_content import add_samples, has_samples, remove_samples
from knowledge.context.start_context import get_context
from knowledge.memory.facts import list_facts
from knowledge.models import Fact, Hypothesis, Note, Session
from knowledge.people.first_steps import first_steps_of
from tests.factories import make_actor
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db

KEPT = {"AuditEvent", "AuditHead", "ErasureReport"}
"""What says that something was erased, and not what."""


def rows() -> dict[str, list[Any]]:
    """Return every row of BigMind, by the name of its table."""
    models = [model for app in ("accounts", "knowledge", "curation") for model in apps.get_app_config(app).get_models()]
    return {
        model.__name__: json.loads(serializers.serialize("json", model._base_manager.order_by("pk")))
        for model in models
        if model.__name__ not in KEPT
    }


def test_removed_samples_leave_no_row_and_take_nothing_of_ones_own() -> None:
    actor = make_actor()
    make_fact(actor, "I prefer tabs.")
    before = rows()

    add_samples(actor)
    added = {name: len(found) - len(before[name]) for name, found in rows().items() if found != before[name]}
    remove_samples(actor)
    after = rows()

    assert {"Fact", "Session", "Hypothesis", "Note", "Passage"} <= added.keys()
    assert {name: after[name] for name in before if after[name] != before[name]} == {}


def test_samples_say_so_wherever_they_are_told() -> None:
    actor = make_actor()
    add_samples(actor)

    texts = [*Fact.objects.values_list("fact", flat=True), *Hypothesis.objects.values_list("hypothesis", flat=True)]
    texts += [*Note.objects.values_list("content", flat=True), *Session.objects.values_list("one_liner", flat=True)]
    assert len(texts) >= 8
    assert all(text.startswith("Sample: ") for text in texts)
    told = [line for line in get_context(actor, project="billing").markdown.splitlines() if "refund" in line]
    assert all("Sample: " in line for line in told)


def test_samples_are_no_step_of_a_newcomer_and_are_added_once() -> None:
    actor = make_actor()
    before = first_steps_of(actor.user)
    add_samples(actor)

    assert first_steps_of(actor.user) == before
    with pytest.raises(Conflict, match="already"):
        add_samples(actor)


def test_a_newcomer_looks_around_with_samples_and_removes_them_in_one_click(client: Client) -> None:
    user = User.objects.get(pk=make_actor().user.pk)
    client.force_login(user)
    offered = client.get("/welcome/").text

    added = client.post("/welcome/", {"do": "add-samples"}, follow=True).text
    again = client.post("/welcome/", {"do": "add-samples"}, follow=True).text
    facts = list_facts(Actor.of(user))
    client.post("/welcome/", {"do": "remove-samples"})

    assert "Look around with sample content" in offered
    assert "one click removes it" in added
    assert "Remove the sample content" in again
    assert "already" in again
    assert facts.total == 5
    assert not has_samples(user)
    assert "Remove the sample content" not in client.get("/welcome/").text

"""Export and import: there and back without loss, and twice is once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.services.profiles import update_profile
from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from knowledge.models import Chunk, Fact, Session
from knowledge.services.asides import set_aside
from knowledge.services.exports import export_memory, import_memory
from knowledge.services.facts import correct_fact, store_fact
from knowledge.services.hypotheses import add_hypothesis, resolve_hypothesis
from knowledge.services.notes import set_note
from knowledge.services.recall import search_chunks
from knowledge.services.sessions import append_chunk, end_session, start_session
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


def _remember_a_bit_of_everything(actor):
    update_profile(actor, role="Engineer", preferences="Concise.", pinned_facts=["Uses uv"])
    start_session(actor, project="pi")
    append_chunk(actor, role="user", content="  We chose Redis.\r\n", flag_reason="decision")
    chunk = append_chunk(actor, role="system", content="Second")
    set_aside(actor, kind="chunk", id=str(chunk.pk))
    old = store_fact(actor, category="decision", fact="Deploys on Fridays.", confidence=0.4).fact
    correct_fact(actor, fact_id=old.pk, fact="Deploys on Mondays.")
    belief = add_hypothesis(actor, hypothesis="It is the cache.")
    resolve_hypothesis(actor, hypothesis_id=belief.pk, status="refuted", resolution="It was not.")
    add_hypothesis(actor, hypothesis="It is the pool.", confidence=0.2)
    set_note(actor, domain="email", key="k", content="Rule", expires_at=timezone.now() + timedelta(days=9))
    end_session(actor, one_liner="Done", topics=["a", "b"], outcome="Built.", summary="Told.", key_facts=["One"])
    start_session(actor)


def _document(actor):
    told = export_memory(actor).model_dump(mode="json", exclude={"exported_at"})
    numbers = {fact["id"]: place for place, fact in enumerate(told["facts"])}
    for fact in told["facts"]:
        fact["id"], fact["superseded_by"] = numbers[fact["id"]], numbers.get(fact["superseded_by"])
    return told


def test_a_memory_moves_to_another_person_without_loss():
    actor, heir = make_actor(), make_actor()
    _remember_a_bit_of_everything(actor)
    document = export_memory(actor).model_dump(mode="json")

    carry_out(import_memory, heir, {"document": document})

    theirs, ours = _document(heir), _document(actor)
    for told in (theirs, ours):
        for session in told["sessions"]:
            del session["id"]
        for thing in (*told["facts"], *told["hypotheses"]):
            thing.pop("source_session", None)
            thing.pop("session", None)
    del theirs["profile"]["updated_at"], ours["profile"]["updated_at"]
    assert theirs == ours
    assert search_chunks(heir, query="redis").total == 1


def test_a_memory_comes_back_exactly_after_everything_was_lost():
    actor = make_actor()
    _remember_a_bit_of_everything(actor)
    before = _document(actor)
    document = export_memory(actor).model_dump(mode="json")
    Session.objects.all().delete()
    Fact.objects.all().delete()
    actor.user.hypotheses.all().delete()
    actor.user.notes.all().delete()
    actor.user.profile.delete()

    carry_out(import_memory, actor, {"document": document})

    assert _document(actor) == before


def test_importing_twice_changes_nothing():
    actor, heir = make_actor(), make_actor()
    _remember_a_bit_of_everything(actor)
    document = export_memory(actor).model_dump(mode="json")
    carry_out(import_memory, heir, {"document": document})
    once = _document(heir)

    again = carry_out(import_memory, heir, {"document": document})

    assert _document(heir) == once
    assert sum(again.added.values()) == 0


def test_a_dry_run_counts_and_stores_nothing():
    actor, heir = make_actor(), make_actor()
    _remember_a_bit_of_everything(actor)
    document = export_memory(actor).model_dump(mode="json")

    would = carry_out(import_memory, heir, {"document": document, "dry_run": True})

    assert would.added["facts"] == 2
    assert not Fact.objects.of(heir.user).exists()
    assert not Chunk.objects.filter(user=heir.user).exists()


def test_an_import_never_touches_the_memory_it_came_from():
    actor, thief = make_actor(), make_actor()
    _remember_a_bit_of_everything(actor)
    before = _document(actor)
    document = export_memory(actor).model_dump(mode="json")
    document["sessions"][0]["one_liner"] = "Forged"

    carry_out(import_memory, thief, {"document": document})

    assert _document(actor) == before
    assert Session.objects.of(thief.user).filter(one_liner="Forged").exists()


def test_one_wrong_item_refuses_the_whole_document_and_names_it():
    actor = make_actor()
    fact = {"id": 1, "category": "decision", "fact": "Fine.", "created_at": "2026-01-01T00:00:00Z"}
    document = {"format": "bigmind-memory", "version": 1, "facts": [fact, {**fact, "category": "gossip"}]}

    with pytest.raises(Invalid) as refusal:
        carry_out(import_memory, actor, {"document": document})

    assert refusal.value.problems[0]["field"] == "document.facts.1.category"
    assert not Fact.objects.exists()


def test_a_document_of_an_unknown_version_is_refused():
    with pytest.raises(Invalid, match=r"document\.version"):
        carry_out(import_memory, make_actor(), {"document": {"format": "bigmind-memory", "version": 2}})

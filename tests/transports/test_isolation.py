"""Private means private: every operation of the catalogue, as everybody else (the table in SECURITY.md)."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.actor import Actor
from accounts.services.profiles import update_profile
from bigmind.core.errors import BigMindError
from bigmind.core.operations import Effect
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.models import Chunk, Fact, Hypothesis, Note, Session
from knowledge.services.facts import deprecate_fact, store_fact
from knowledge.services.hypotheses import add_hypothesis
from knowledge.services.notes import set_note
from knowledge.services.sessions import append_chunk, end_session, start_session
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

SECRET = "Zanzibar"


@dataclass
class Owned:
    """One of everything, with the secret word in every text."""

    session: str
    fact: int
    chunk: int
    hypothesis: int
    note: int


def _own_everything(actor: Actor) -> Owned:
    update_profile(actor, role=f"{SECRET} engineer", preferences=SECRET, pinned_facts=[SECRET])
    ended = start_session(actor, project=SECRET).session
    chunk = append_chunk(actor, role="user", content=f"{SECRET} chunk", flag_reason=SECRET)
    end_session(actor, one_liner=f"{SECRET} session", topics=[SECRET], outcome=SECRET, summary=f"{SECRET} summary")
    fact = store_fact(actor, category="decision", fact=f"{SECRET} fact").fact
    gone = store_fact(actor, category="decision", fact=f"{SECRET} old fact").fact
    deprecate_fact(actor, fact_id=gone.pk, reason=SECRET)
    belief = add_hypothesis(actor, hypothesis=f"{SECRET} hypothesis")
    note = set_note(
        actor, domain=SECRET, key=SECRET, content=f"{SECRET} note", expires_at=timezone.now() + timedelta(days=1)
    )
    start_session(actor, project=SECRET)
    return Owned(str(ended.pk), fact.pk, chunk.pk, belief.pk, note.pk)


def _fact_document() -> dict[str, Any]:
    fact = {"id": 1, "category": "decision", "fact": f"{SECRET} fact", "created_at": "2026-01-01T00:00:00Z"}
    return {"format": "bigmind-memory", "version": 1, "facts": [fact]}


# What a stranger sends, knowing every id and address of the owner. An operation without a row here fails the test.
ATTEMPTS: dict[str, Any] = {
    "memory_start_session": lambda owned: {"topics": ["anything"]},
    "memory_end_session": lambda owned: {"session_id": owned.session, "one_liner": "Taken over"},
    "memory_flag_important": lambda owned: {"session_id": owned.session, "content": "Planted"},
    "memory_append_chunk": lambda owned: {"session_id": owned.session, "role": "user", "content": "Planted"},
    "memory_get_context": lambda owned: {"sessions": 50},
    "memory_get_session_detail": lambda owned: {"session_id": owned.session},
    "memory_list_sessions": lambda owned: {"include_set_aside": True},
    "memory_search_chunks": lambda owned: {"query": SECRET},
    "memory_correct_session": lambda owned: {"session_id": owned.session, "one_liner": "Taken over"},
    "memory_erase_session": lambda owned: {"session_id": owned.session},
    "memory_correct_chunk": lambda owned: {"chunk_id": owned.chunk, "content": "Taken over"},
    "memory_erase_chunk": lambda owned: {"chunk_id": owned.chunk},
    "memory_store_fact": lambda owned: {
        "category": "decision",
        "fact": "Something else",
        "source_session": owned.session,
    },
    "memory_list_facts": lambda owned: {"include_deprecated": True},
    "memory_deprecate_fact": lambda owned: {"fact_id": owned.fact, "reason": "Taken over"},
    "memory_correct_fact": lambda owned: {"fact_id": owned.fact, "fact": "Taken over"},
    "memory_erase_fact": lambda owned: {"fact_id": owned.fact},
    "memory_set_aside": lambda owned: {"kind": "note", "id": str(owned.note)},
    "memory_restore": lambda owned: {"kind": "fact", "id": str(owned.fact)},
    "memory_add_hypothesis": lambda owned: {"hypothesis": "Something else", "session_id": owned.session},
    "memory_resolve_hypothesis": lambda owned: {
        "hypothesis_id": owned.hypothesis,
        "status": "refuted",
        "resolution": "Taken over",
    },
    "memory_correct_hypothesis": lambda owned: {"hypothesis_id": owned.hypothesis, "hypothesis": "Taken over"},
    "memory_list_hypotheses": lambda owned: {"include_set_aside": True},
    "memory_erase_hypothesis": lambda owned: {"hypothesis_id": owned.hypothesis},
    "knowledge_set": lambda owned: {"domain": "Zanzi", "key": "bar", "content": "Mine"},
    "knowledge_get": lambda owned: {"domain": "Zanzibar".lower(), "key": "zanzibar"},
    "knowledge_delete": lambda owned: {"domain": "Zanzibar".lower(), "key": "zanzibar"},
    "knowledge_rename": lambda owned: {"domain": "Zanzibar".lower(), "key": "zanzibar", "new_key": "taken"},
    "knowledge_search": lambda owned: {"query": SECRET},
    "memory_update_profile": lambda owned: {"role": "Stranger"},
    "memory_get_profile": lambda owned: {},
    "memory_get_profile_url": lambda owned: {},
    "memory_open_profile": lambda owned: {},
    "memory_get_instructions": lambda owned: {},
    "memory_get_stats": lambda owned: {},
    "memory_health_check": lambda owned: {"stale_days": 1},
    "memory_vacuum": lambda owned: {"older_than_days": 1, "dry_run": False},
    "memory_export": lambda owned: {},
    "memory_import": lambda owned: {"document": _fact_document(), "dry_run": True},
}

STRANGERS = {
    "another member": lambda: make_actor(),
    "a curator": lambda: make_actor(curator=True),
    "an admin": lambda: make_actor(admin=True),
}


def _everything_stored_by(actor: Actor) -> list[Any]:
    models = (Session, Fact, Chunk, Hypothesis, Note)
    rows = [list(model.objects.filter(user=actor.user).order_by("pk").values()) for model in models]
    return [*rows, actor.user.profile.role]


def test_every_operation_has_a_rule():
    assert set(ATTEMPTS) == set(CATALOGUE)


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("name", CATALOGUE)
def test_nobody_sees_or_changes_what_is_someone_elses(name, stranger, settings, monkeypatch):
    settings.BIGMIND_MODE = "team"
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    owner, actor = make_actor(), STRANGERS[stranger]()
    owned = _own_everything(owner)
    before = _everything_stored_by(owner)

    try:
        outcome = perform(CATALOGUE[name], actor, ATTEMPTS[name](owned), door="rest")
        seen = json.dumps(outcome.structured()) + outcome.markdown()
    except BigMindError as refusal:
        seen = f"{refusal} {refusal.details}"

    assert SECRET not in seen
    assert _everything_stored_by(owner) == before


NUMBERED = [
    name
    for name, operation in CATALOGUE.items()
    if {"fact_id", "chunk_id", "hypothesis_id"} & set(operation.arguments.model_fields)
]


@pytest.mark.parametrize("name", NUMBERED)
def test_a_foreign_id_answers_like_one_that_does_not_exist(name):
    owned, stranger = _own_everything(make_actor()), make_actor()
    foreign = ATTEMPTS[name](owned)
    (field,) = [name for name in foreign if name.endswith("_id")]
    random = {**foreign, field: foreign[field] + 10_000}

    answers = []
    for attempt in (foreign, random):
        with pytest.raises(BigMindError) as refusal:
            perform(CATALOGUE[name], stranger, attempt, door="rest")
        answers.append((type(refusal.value), str(refusal.value).replace(str(attempt[field]), "ID")))

    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", [name for name, one in CATALOGUE.items() if one.effect is not Effect.READ])
def test_a_key_that_may_only_read_changes_nothing(name):
    owner = make_actor()
    owned = _own_everything(owner)
    reader = Actor(owner.user, scopes=frozenset({"read"}))

    with pytest.raises(BigMindError, match="may not write"):
        perform(CATALOGUE[name], reader, ATTEMPTS[name](owned), door="rest")

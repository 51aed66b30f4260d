"""What the model and the pages learn when hooks get no answer, a late one, or a refusal."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from knowledge.capture import events
from knowledge.memory.facts import store_fact
from knowledge.models import Chunk, Conversation, Fact, HookEvent, HookHealth
from tests.capture.hooking import HookedClient, context_in
from tests.factories import make_actor, make_key

pytestmark = pytest.mark.django_db
FACT = "The ledger keeps its lock in Redis, under ledger:lock."
QUESTION = "Where does the ledger keep its lock in Redis?"


@pytest.fixture
def actor():
    cache.clear()
    actor = make_actor()
    store_fact(actor, category="codebase", fact=FACT)
    return actor


def test_what_came_too_late_is_said_and_recalled_again(actor, monkeypatch):
    claude = HookedClient(actor.user)
    claude.prompt("Hello there, how are things going today?")
    HookEvent.objects.update(recalled=[])
    monkeypatch.setattr(events, "WAITS_MILLISECONDS", -1)
    late = claude.prompt(QUESTION)
    monkeypatch.undo()

    again, later = claude.prompt(QUESTION), claude.prompt("And how are the deploys done on Tuesdays?")

    assert "ledger:lock" in late
    assert again.startswith("What BigMind recalled for the last prompt came too late")
    assert "ledger:lock" in again
    assert "too late" not in later
    health = HookHealth.objects.get()
    assert health.late == 1
    assert health.failed_at is not None
    assert "its client waits for" in health.failure


def test_what_a_hook_could_not_send_is_on_the_page(actor, client):
    missed = {"late": 2, "away": 3, "at": (timezone.now() - timedelta(minutes=5)).isoformat(), "reason": "no answer"}
    HookedClient(actor.user, "codex").start(missed=missed)
    client.force_login(actor.user)

    page = client.get(reverse("captured")).text

    health = HookHealth.objects.get()
    assert (health.late, health.missed, health.is_failing) == (2, 3, False)
    assert "no answer" in page
    assert "2 answers too late, 3 events not taken" in page


def test_a_client_over_its_limit_reads_one_line(actor):
    key = make_key(actor.user, scopes={"read", "write"}, per_minute=1).text
    claude = HookedClient(actor.user, key=key)
    claude.start()

    first, second = _send(claude), _send(claude)

    assert first.status_code == 200
    line = context_in(json.loads(first.content))
    assert line.startswith("BigMind took nothing from a hook")
    assert "More than 1 operations in a minute." in line
    assert second.status_code == 429


def test_the_hook_program_keeps_what_was_refused(actor):
    key = make_key(actor.user, scopes={"read", "write"}, per_minute=1).text
    claude = HookedClient(actor.user, key=key)
    claude.start()

    assert _send(claude, bigmind={"event_id": "x"}).status_code == 429


def test_a_start_brings_what_is_known_while_nothing_can_be_stored(actor, settings):
    settings.READ_ONLY = True
    claude = HookedClient(actor.user)

    brought, prompt, again = claude.start(), _send(claude), _send(claude)

    assert "ledger:lock" in brought
    assert "This memory is read-only" in brought
    assert "has opened session" not in brought
    assert context_in(json.loads(prompt.content)).startswith("BigMind took nothing from a hook")
    assert again.status_code == 503
    assert not HookEvent.objects.exists()


def test_a_call_that_was_kept_while_bigmind_was_away_is_carried_out_once_in_its_session(actor):
    claude = HookedClient(actor.user)
    claude.start()
    kept = {
        "hook_event_name": "KeptCall",
        "tool_name": "memory_flag_important",
        "tool_input": {"content": "The pool bar closes at ten."},
        "bigmind": {"event_id": str(uuid4()), "late": True},
    }

    answers = [_send(claude, **kept) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    chunk = Chunk.objects.get()
    assert chunk.session == Conversation.objects.get().session


def test_a_kept_call_that_is_refused_is_shown_and_not_sent_for_ever(actor):
    claude = HookedClient(actor.user)
    claude.start()
    own = {"event_id": str(uuid4()), "late": True}

    wrong = _send(
        claude, hook_event_name="KeptCall", tool_name="memory_store_fact", tool_input={"category": "x"}, bigmind=own
    )
    erasing = _send(
        claude, hook_event_name="KeptCall", tool_name="memory_erase_fact", tool_input={"fact_id": 1}, bigmind=own
    )

    assert (wrong.status_code, erasing.status_code) == (200, 200)
    assert "memory_store_fact, kept while BigMind was away, was refused" in HookHealth.objects.get().failure
    assert Fact.objects.count() == 1


def _send(claude: HookedClient, **own: Any) -> Any:
    payload = {"session_id": claude.conversation, "hook_event_name": "UserPromptSubmit", "prompt": QUESTION, **own}
    headers = {"Authorization": f"Bearer {claude.key}"}
    return claude.http.post("/hooks/claude-code/", json.dumps(payload), "application/json", headers=headers)

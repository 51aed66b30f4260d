"""Guards: what one member can fill takes no guard from others, and a guard that is missing is said."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from accounts.actor import Actor
from accounts.connecting.hook_program import REPLY_BYTES
from bigmind.observability.health import parts
from curation.decisions.company_trigger_levels import set_trigger_level
from knowledge.capture import triggers
from knowledge.capture.triggers import UNDECIDED_OF_AUTHOR, renew_triggers
from knowledge.memory.facts import store_fact
from knowledge.memory.trigger_levels import set_fact_triggers
from knowledge.models import Entry, Fact
from tests.capture.hooking import HookedClient
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_key, make_user
from tests.triggers.test_journey import Machine, reason_in

pytestmark = pytest.mark.django_db

TRIGGER = "command: git push --force"


@pytest.fixture(autouse=True)
def _nothing_is_missing():
    cache.delete(triggers.MISSING)


def _set_of(user) -> dict[str, Any]:
    text = renew_triggers(Actor.of(user, key=make_key(user).key), "")
    assert len(json.dumps(text, ensure_ascii=False).encode()) < REPLY_BYTES
    found: dict[str, Any] = json.loads(text.splitlines()[1])
    return found


def _fill(author, rows: int, chars: int = 100) -> None:
    """Let a member add entries with triggers, as anyone may without a curator."""
    Entry.objects.bulk_create(
        Entry(
            content=f"{author} {row} " + "x" * chars,
            digest=f"{author} {row}",
            created_by=author,
            confidence=1.0,
            triggers=[f"command: {author}{row} {'y' * chars}"],
        )
        for row in range(rows)
    )


def _own_guard(user) -> Fact:
    actor = make_actor(user)
    fact = store_fact(actor, category="constraint", fact="Branches are never overwritten.").fact
    set_fact_triggers(actor, fact_id=fact.number, triggers=[TRIGGER])
    return set_fact_triggers(actor, fact_id=fact.number, level="block")


def _decided_guard(settings: Any) -> str:
    settings.BIGMIND_MODE = "team"
    entry = approved_entry(triggers=[TRIGGER])
    curator = make_actor(make_user(role="curator"))
    for level in ("advise", "ask", "block"):
        entry.refresh_from_db()
        set_trigger_level(curator, entry_id=entry.pk, level=level, revision=entry.revision)
    return f"C{entry.pk}"


def test_a_member_who_adds_thousands_takes_no_guard_from_anyone(settings):
    ada, filler, other = make_user("ada"), make_user("filler"), make_user("other")
    guard, decided = _own_guard(ada), _decided_guard(settings)
    _fill(filler, 3_000, chars=100)
    _fill(other, 3)

    found = _set_of(ada)

    handles = [item["h"] for item in found["items"]]
    assert handles[:2] == [decided, f"F{guard.number}"]
    assert len(handles) == 2 + UNDECIDED_OF_AUTHOR + 3
    assert found["missing"] == []


def test_what_an_agent_adds_to_its_users_facts_takes_no_guard_of_the_company(settings, monkeypatch):
    ada = make_user("ada")
    decided = _decided_guard(settings)
    monkeypatch.setattr(triggers, "SET_BYTES", 20_000)
    Fact.objects.bulk_create(
        Fact(user=ada, category="constraint", fact=f"{row}" * 200, digest=str(row), triggers=[TRIGGER])
        for row in range(1, 200)
    )

    found = _set_of(ada)

    assert found["items"][0]["h"] == decided
    assert 0 < len(found["items"]) < 200
    assert len(found["items"]) + len(found["missing"]) == 200


def test_a_guard_that_is_missing_is_said_once_in_a_conversation_and_to_admins(settings, monkeypatch, tmp_path: Path):
    ada = make_user("ada")
    decided = _decided_guard(settings)
    monkeypatch.setattr(triggers, "SET_BYTES", 100)
    machine = Machine(tmp_path, HookedClient(ada))
    machine.exchange()
    asks = {"hook_event_name": "UserPromptSubmit", "prompt": "Push it.", "session_id": "s1"}

    first, second = machine.tell(asks), machine.tell(asks)

    assert f"guards that are missing here (1): {decided}" in first["hookSpecificOutput"]["additionalContext"]
    assert second == {}
    assert [part.error for part in parts() if part.name == "guards"] == [f"1 reach no hook: {decided}"]


def test_a_set_that_was_changed_is_said_at_the_next_prompt(tmp_path: Path):
    ada = make_user("ada")
    _own_guard(ada)
    machine = Machine(tmp_path, HookedClient(ada))
    machine.exchange()
    assert reason_in(machine.act("git push --force"))[0] == "deny"
    machine.file.write_text(machine.file.read_text().replace("block", "shadow"))

    said = machine.tell({"hook_event_name": "UserPromptSubmit", "prompt": "Push it.", "session_id": "s1"})

    assert "was changed, or is another key's" in said["hookSpecificOutput"]["additionalContext"]

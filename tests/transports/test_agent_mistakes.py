"""The mistakes that agents make, made over a real client: what is plain is done, all else is answered with the call."""

import json
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from django.utils import timezone
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from accounts.models import User
from knowledge.models import Chunk, Fact, Feedback, Hypothesis, Note, Serving, Session
from tests.factories import make_key
from tests.serving import Served
from tests.transports.agent_mistakes import FORGIVEN, MISTAKES, REFUSED, REPAIRED, Call, Ids, Mistake

PAGE = Path(__file__).parents[2] / "docs" / "forgiving.md"
BEGIN, END = "<!-- mistakes -->", "<!-- end -->"
CALL = re.compile(r"(?:The call put right: |Call )(\w+)\((\{.*\})\)")


def test_most_of_what_agents_get_wrong_is_forgiven_or_repaired_at_once() -> None:
    outcomes = Counter(mistake.outcome for mistake in MISTAKES)

    assert len(MISTAKES) >= 40
    assert outcomes[FORGIVEN] + outcomes[REPAIRED] >= 30


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.about)
def test_a_mistake_has_the_effect_of_what_is_meant_or_none(served: Served, mistake: Mistake) -> None:
    user, key, ids = _somebody(served)
    before = _memory_of(user)

    is_error, text = anyio.run(_call, served.mcp, key, mistake.sent(ids))

    if mistake.outcome == REFUSED:
        assert is_error
        assert mistake.meant in text  # type: ignore[operator]
        assert _memory_of(user) == before
        return
    assert callable(mistake.meant)
    if mistake.outcome == REPAIRED:
        assert is_error, text
        assert _memory_of(user) == before
        found = CALL.search(text)
        assert found, text
        call = found[1], json.loads(found[2])
        is_error, text = anyio.run(_call, served.mcp, key, call)
    assert not is_error, text
    other, other_key, other_ids = _somebody(served)
    right = anyio.run(_call, served.mcp, other_key, mistake.meant(other_ids))
    assert (is_error, _without_ids(text)) == (right[0], _without_ids(right[1]))
    assert _memory_of(user) == _memory_of(other)


def test_the_page_has_the_table() -> None:
    written = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]

    assert written.strip() == _table().strip()


def _table() -> str:
    groups = {
        FORGIVEN: "Forgiven: it has the effect of what is meant",
        REPAIRED: "Repaired: nothing is done, and the refusal has the call that is meant",
        REFUSED: "Refused: the refusal says what only the caller can know",
    }
    parts = []
    for outcome, heading in groups.items():
        found = [mistake for mistake in MISTAKES if mistake.outcome == outcome]
        parts.append(f"**{heading}** ({len(found)} of {len(MISTAKES)})\n")
        parts += [f"- {mistake.about}" for mistake in found]
        parts.append("")
    return "\n".join(parts)


def _somebody(served: Served) -> tuple[User, str, Ids]:
    """Make somebody with a session, a fact and a note; return who it is, their key and what has which id."""
    key = make_key()
    calls: list[Call] = [
        ("memory_start_session", {"project": "depot"}),
        ("memory_store_fact", {"category": "identity", "fact": "The bicycle is green in colour."}),
        ("knowledge_set", {"domain": "email", "key": "signature", "content": "Best, P."}),
    ]
    anyio.run(_calls, served.mcp, key.text, calls)
    user = key.key.user
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    ids = {
        "fact": Fact.objects.get(user=user).pk,
        "session": str(Session.objects.get(user=user).pk),
        "today": today.isoformat(),
        "yesterday": (today - timedelta(days=1)).isoformat(),
    }
    return user, key.text, ids


async def _call(url: str, key: str, call: Call) -> tuple[bool, str]:
    (said,) = await _calls(url, key, [call])
    return said


async def _calls(url: str, key: str, calls: list[Call]) -> list[tuple[bool, str]]:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"})
    async with Client(streamable_http_client(url, http_client=http), mode="auto") as client:
        return [await _said(client, call) for call in calls]


async def _said(client: Client, call: Call) -> tuple[bool, str]:
    try:
        result = await client.call_tool(*call)
    except MCPError as error:
        return True, str(error)
    return bool(result.is_error), result.content[-1].text  # type: ignore[union-attr]


def _memory_of(user: User) -> dict[str, Any]:
    """Return all that is stored of somebody, without ids and moments."""
    facts = Fact.objects.filter(user=user).order_by("pk")
    sessions = Session.objects.filter(user=user).order_by("pk")
    return {
        "facts": list(facts.values_list("category", "fact", "confidence", "project", "deprecation_reason")),
        "chunks": list(Chunk.objects.filter(user=user).values_list("content", "flag_reason")),
        "hypotheses": list(Hypothesis.objects.filter(user=user).values_list("hypothesis", "status")),
        "notes": list(Note.objects.filter(user=user).values_list("domain", "key", "content")),
        "sessions": list(sessions.values_list("one_liner", "topics", "outcome", "importance", "auto_closed")),
        "open": sessions.filter(ended_at=None).count(),
        "summaries": list(sessions.values_list("summary__key_facts", "summary__code_refs")),
        "feedback": list(Feedback.objects.filter(user=user).values_list("kind", "verdict", "note")),
        "used": Serving.objects.filter(session__user=user, cited=True).count(),
    }


def _without_ids(text: str) -> str:
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8}\b|\d+", "…", text)

"""The mistakes that agents make, made over a real client: what is plain is done, all else is answered with the call."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
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
Say = Callable[[Call], tuple[bool, str]]
Answer = tuple[str, dict[str, Any]]
CALL = re.compile(r"(?:The call put right: |Call )(\w+)\((\{.*\})\)")


def test_most_of_what_agents_get_wrong_is_forgiven_or_repaired_at_once() -> None:
    outcomes = Counter(mistake.outcome for mistake in MISTAKES)

    assert len(MISTAKES) >= 40
    assert outcomes[FORGIVEN] + outcomes[REPAIRED] >= 30


def test_each_mistake_has_the_effect_of_what_is_meant_or_none(served: Served) -> None:
    wrong: dict[str, str] = {}
    right: dict[str, Answer] = {}
    with start_blocking_portal() as portal:
        for mistake in MISTAKES:
            try:
                _make(mistake, served, portal, right)
            except AssertionError as error:
                wrong[mistake.about] = str(error)

    assert wrong == {}


def _make(mistake: Mistake, served: Served, portal: BlockingPortal, right: dict[str, Answer]) -> None:
    """Make a mistake as somebody, and see that it did as much as the right call, or nothing."""
    with _somebody(served, portal) as (user, call, ids):
        before = _memory_of(user)

        is_error, text = call(mistake.sent(ids))

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
            is_error, text = call((found[1], json.loads(found[2])))
    assert not is_error, text
    same = json.dumps(mistake.meant({name: f"<{name}>" for name in ids}))
    if same not in right:
        right[same] = _answer_to(mistake.meant, served, portal)
    assert (_without_ids(text), _memory_of(user)) == right[same]


def _answer_to(meant: Callable[[Ids], Call], served: Served, portal: BlockingPortal) -> Answer:
    """Make the right call as somebody else. Many mistakes mean the same one."""
    with _somebody(served, portal) as (user, call, ids):
        is_error, text = call(meant(ids))
        assert not is_error, text
        return _without_ids(text), _memory_of(user)


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


@contextmanager
def _somebody(served: Served, portal: BlockingPortal) -> Iterator[tuple[User, Say, Ids]]:
    """Make somebody with a session, a fact and a note; yield who it is, what calls for them and what has which id.

    All their calls go over one connection: to make one takes longer than a call.
    """
    key, user = (made := make_key()).text, made.key.user
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60)
    client = Client(streamable_http_client(served.mcp, http_client=http), mode="auto")
    with portal.wrap_async_context_manager(client):
        portal.call(_said, client, ("memory_start_session", {"project": "depot"}))
        fact = {"category": "identity", "fact": "The bicycle is green in colour."}
        portal.call(_said, client, ("memory_store_fact", fact))
        note = {"domain": "email", "key": "signature", "content": "Best, P."}
        portal.call(_said, client, ("knowledge_set", note))
        yield user, lambda call: portal.call(_said, client, call), _ids_of(user)


def _ids_of(user: User) -> Ids:
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    return {
        "fact": Fact.objects.get(user=user).pk,
        "session": str(Session.objects.get(user=user).pk),
        "today": today.isoformat(),
        "yesterday": (today - timedelta(days=1)).isoformat(),
    }


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

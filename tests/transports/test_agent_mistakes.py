"""The mistakes that agents make: what is plain is done, all else is answered with the call."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from django.utils import timezone
from mcp import Client, MCPError, types
from mcp.client.streamable_http import streamable_http_client

from accounts.models import User
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.tools import call_tool
from knowledge.models import Chunk, Fact, Feedback, Hypothesis, Note, Serving, Session
from tests.factories import make_agent, make_key, make_user
from tests.serving import Served
from tests.transports.agent_mistakes import FORGIVEN, MISTAKES, REFUSED, REPAIRED, Call, Ids, Mistake
from tests.worlds import undone

PAGE = Path(__file__).parents[2] / "docs" / "forgiving.md"
BEGIN, END = "<!-- mistakes -->", "<!-- end -->"
Say = Callable[[Call], tuple[bool, str]]
Answer = tuple[str, dict[str, Any]]
Somebody = tuple[User, Say, Ids]
"""Who it is, what calls for them, and what of theirs has which id."""
Meet = Callable[[], AbstractContextManager[Somebody]]
FIRST_CALLS: tuple[Call, ...] = (
    ("memory_start_session", {"project": "depot"}),
    ("memory_store_fact", {"category": "identity", "fact": "The bicycle is green in colour."}),
    ("knowledge_set", {"domain": "email", "key": "signature", "content": "Best, P."}),
)
CALL = re.compile(r"(?:The call put right: |Call )(\w+)\((\{.*\})\)")


def test_most_of_what_agents_get_wrong_is_forgiven_or_repaired_at_once() -> None:
    outcomes = Counter(mistake.outcome for mistake in MISTAKES)

    assert len(MISTAKES) >= 40
    assert outcomes[FORGIVEN] + outcomes[REPAIRED] >= 30


@pytest.mark.django_db
def test_each_mistake_has_the_effect_of_what_is_meant_or_none(settings: Any) -> None:
    settings.RATE_LIMIT_PER_MINUTE = 0
    somebody = _make_somebody()

    @contextmanager
    def meet() -> Iterator[Somebody]:
        with undone():
            yield somebody

    wrong: dict[str, str] = {}
    right: dict[str, Answer] = {}
    for mistake in MISTAKES:
        try:
            _make(mistake, meet, right)
        except AssertionError as error:
            wrong[mistake.about] = str(error)

    assert wrong == {}


@pytest.mark.parametrize("outcome", [FORGIVEN, REPAIRED, REFUSED])
def test_a_real_client_hands_on_what_is_wrong_and_what_it_is_answered(served: Served, outcome: str) -> None:
    mistake = next(mistake for mistake in MISTAKES if mistake.outcome == outcome)

    with start_blocking_portal() as portal:
        _make(mistake, lambda: _over_a_real_client(served, portal), {})


def _make(mistake: Mistake, meet: Meet, right: dict[str, Answer]) -> None:
    """Make a mistake as somebody, and see that it did as much as the right call, or nothing."""
    with meet() as (user, call, ids):
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
        done = _without_ids(text), _memory_of(user)
    same = json.dumps(mistake.meant({name: f"<{name}>" for name in ids}))
    if same not in right:
        right[same] = _answer_to(mistake.meant, meet)
    assert done == right[same]


def _answer_to(meant: Callable[[Ids], Call], meet: Meet) -> Answer:
    """Make the right call in the same place. Many mistakes mean the same one."""
    with meet() as (user, call, ids):
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


def _make_somebody() -> Somebody:
    """Make somebody whose agent calls in this process."""
    user = make_user()
    context = RequestContext(make_agent(user, "claude-code"), frozenset({"all"}), "mistakes")

    def call(call: Call) -> tuple[bool, str]:
        name, arguments = call
        try:
            return _read(call_tool(context, types.CallToolRequestParams(name=name, arguments=arguments)))
        except MCPError as error:
            return True, str(error)

    for first in FIRST_CALLS:
        call(first)
    return user, call, _ids_of(user)


@contextmanager
def _over_a_real_client(served: Served, portal: BlockingPortal) -> Iterator[Somebody]:
    """Make somebody whose client calls over one connection: to make one takes longer than a call."""
    key, user = (made := make_key()).text, made.key.user
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60)
    client = Client(streamable_http_client(served.mcp, http_client=http), mode="auto")
    with portal.wrap_async_context_manager(client):
        for first in FIRST_CALLS:
            portal.call(_said, client, first)
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
        return _read(await client.call_tool(*call))
    except MCPError as error:
        return True, str(error)


def _read(result: types.CallToolResult) -> tuple[bool, str]:
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

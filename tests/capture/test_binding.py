"""One conversation, one session (T22): conversations of one client side by side, with and without hooks."""

import itertools
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from accounts.models import User
from knowledge.models import Chunk, HookEvent, Session, Writing
from tests.capture.hooking import HookedClient
from tests.factories import make_key, make_user
from tests.serving import Served

NUMBERS = itertools.count(1)


class Speaking:
    """One conversation of a client: what it says of itself with each call, as the real one does."""

    def __init__(self, client: str, user: User, key: str, mcp: Client, *, hooked: bool) -> None:
        self.client, self.mcp, self.hooked = client, mcp, hooked
        self.hooks = HookedClient(user, client, key=key)

    async def begin(self, name: str) -> None:
        """Begin a conversation of this name."""
        if self.hooked:
            await _aside(self.hooks.start, repository=name)
        else:
            await self.call("memory_start_session", project=name)

    async def clear(self, user: User, name: str) -> None:
        """Go on with a new conversation on the same connection."""
        await _aside(self.hooks.end, "clear")
        self.hooks = HookedClient(user, self.client, key=self.hooks.key)
        await _aside(self.hooks.start, "clear", repository=name)

    async def call(self, tool: str, *, sub_agent: str = "", **arguments: Any) -> tuple[bool, str]:
        """Call a tool, as this client does."""
        meta: dict[str, Any] = {}
        if self.client == "claude-code":
            meta = {"claudecode/toolUseId": f"toolu_{next(NUMBERS)}"}
            if self.hooked:
                observed = {"tool_name": f"mcp__bigmind__{tool}", "tool_use_id": meta["claudecode/toolUseId"]}
                if sub_agent:
                    observed |= {"agent_id": sub_agent, "agent_type": "general-purpose"}
                assert await _aside(self.hooks.send, "PreToolUse", **observed) == {}
        elif self.client == "codex":
            meta = {"sessionId": self.hooks.conversation, "threadId": sub_agent or self.hooks.conversation}
        elif self.hooked:
            sent = {"tool_name": f"mcp_bigmind_{tool}", "tool_input": arguments}
            answer = await _aside(self.hooks.send, "BeforeTool", **sent)
            arguments = answer["hookSpecificOutput"]["tool_input"]
        result = await self.mcp.call_tool(tool, arguments, meta=meta or None)  # type: ignore[arg-type]
        return bool(result.is_error), result.content[0].text  # type: ignore[union-attr]


async def _aside(call: Any, *arguments: Any, **keys: Any) -> Any:
    return await anyio.to_thread.run_sync(lambda: call(*arguments, **keys))


def _client(url: str, key: str, mode: str) -> Client:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30)
    return Client(streamable_http_client(url, http_client=http), mode=mode)


def _strays(user: User) -> list[str]:
    """Return what stands in the session of another conversation: each says whose it is."""
    chunks = Chunk.objects.filter(user=user).select_related("session")
    return [
        f"{chunk.content} in {chunk.project}" for chunk in chunks if not chunk.content.endswith(f" {chunk.project}.")
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("client", "hooked"),
    [("claude-code", True), ("gemini-cli", True), ("codex", True), ("codex", False), ("claude-code", False)],
)
@pytest.mark.parametrize(("conversations", "each"), [(3, 3), pytest.param(5, 6, marks=pytest.mark.torture)])
def test_what_conversations_write_in_turns_never_strays(
    served: Served, mode: str, client: str, hooked: bool, conversations: int, each: int
) -> None:
    user = make_user()
    key = make_key(user, scopes={"read", "write"}).text
    order = random.Random(conversations)

    async def run() -> list[tuple[bool, str]]:
        async with AsyncExitStack() as open_ones:
            speaking = {}
            for number in range(conversations):
                mcp = await open_ones.enter_async_context(_client(served.mcp, key, mode))
                speaking[f"project-{number}"] = Speaking(client, user, key, mcp, hooked=hooked)
                await speaking[f"project-{number}"].begin(f"project-{number}")
            turns = order.sample([*speaking] * each, conversations * each)
            return [await speaking[name].call("memory_flag_important", content=f"Said in {name}.") for name in turns]

    replies = anyio.run(run)

    assert {refused for refused, _ in replies} == {False}
    # Without a hook and without a connection only the session that they name tells conversations of Claude Code apart.
    if not (client == "claude-code" and not hooked and mode == "auto"):
        assert _strays(user) == []
    assert Chunk.objects.filter(user=user).count() == conversations * each
    assert Session.objects.filter(user=user).count() == conversations


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("client", ["claude-code", "gemini-cli"])
def test_after_clear_a_connection_that_stays_writes_to_the_new_session(served: Served, client: str, mode: str) -> None:
    user = make_user()
    key = make_key(user, scopes={"read", "write"}).text

    async def run() -> None:
        async with _client(served.mcp, key, mode) as mcp:
            one = Speaking(client, user, key, mcp, hooked=True)
            await one.begin("before")
            await one.call("memory_flag_important", content="Said in before.")
            await one.clear(user, "after")
            await one.call("memory_flag_important", content="Said in after.")

    anyio.run(run)

    assert _strays(user) == []
    assert Chunk.objects.filter(user=user).count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_sub_agent_writes_to_the_session_of_its_parent_and_is_marked(served: Served, client: str) -> None:
    user = make_user()
    key = make_key(user, scopes={"read", "write"}).text

    async def run() -> None:
        async with _client(served.mcp, key, "legacy") as mcp, _client(served.mcp, key, "legacy") as of_sub_agent:
            parent = Speaking(client, user, key, mcp, hooked=True)
            await parent.begin("depot")
            # Codex opens a connection for each thread; in Claude Code sub-agents share the one there is.
            parent.mcp = of_sub_agent if client == "codex" else mcp
            await parent.call("memory_flag_important", sub_agent="a65-explorer", content="Said in depot.")

    anyio.run(run)

    assert _strays(user) == []
    assert Session.objects.filter(user=user).count() == 1
    assert list(Writing.objects.filter(kind="chunk", user=user).values_list("sub_agent", flat=True)) == ["a65-explorer"]


@pytest.mark.django_db(transaction=True)
def test_starting_a_session_again_in_a_conversation_that_a_hook_began_goes_on_with_it(served: Served) -> None:
    user = make_user()
    key = make_key(user, scopes={"read", "write"}).text

    async def run() -> tuple[bool, str]:
        async with _client(served.mcp, key, "legacy") as mcp:
            one = Speaking("claude-code", user, key, mcp, hooked=True)
            await one.begin("depot")
            return await one.call("memory_start_session", project="depot")

    refused, _ = anyio.run(run)

    assert not refused
    assert Session.objects.filter(user=user).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_conversation_that_says_who_it_is_never_writes_to_the_only_other_one(served: Served) -> None:
    user = make_user()
    key = make_key(user, scopes={"read", "write"}).text

    async def run() -> tuple[bool, str]:
        async with _client(served.mcp, key, "auto") as mcp:
            other = Speaking("codex", user, key, mcp, hooked=False)
            await other.begin("depot")
            return await Speaking("codex", user, key, mcp, hooked=False).call("memory_flag_important", content="Mine.")

    refused, text = anyio.run(run)

    assert not refused
    assert "No session was open" in text
    assert Chunk.objects.get(user=user).session.project == ""


@pytest.mark.django_db(transaction=True)
def test_events_that_are_reported_side_by_side_open_and_close_one_session(served: Served) -> None:
    user = make_user()
    key = make_key(user, scopes={"read", "write"}).text
    events = [
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "BeforeAgent", "prompt": "Why is the invoice slow?"},
        {"hook_event_name": "SessionEnd", "reason": "exit"},
    ]

    def report(event: dict[str, str]) -> int:
        headers = {"Authorization": f"Bearer {key}"}
        sent = {"session_id": "one", "cwd": "/src/depot", "bigmind": {"repository": "depot"}, **event}
        return httpx2.post(f"{served.url}/hooks/gemini-cli/", json=sent, headers=headers, timeout=30).status_code

    with ThreadPoolExecutor(6) as pool:
        statuses = [status for event in events for status in pool.map(report, [event] * 6)]

    assert statuses == [200] * 18
    session = Session.objects.get(user=user)
    assert (session.one_liner, session.is_open) == ("", False)
    assert HookEvent.objects.filter(user=user, event="end").count() == 1

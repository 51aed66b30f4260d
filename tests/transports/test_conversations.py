"""Every write is stored, in its own session where a handle, a header or the connection tells conversations apart (T40).

Two revisions of MCP, a connection for each conversation or for each call, stdio and REST: what a program does is the
same table for all of them.
"""

import json
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from django.core.cache import cache
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from accounts.models import User
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.routes import path_parameters
from knowledge.models import Chunk, Fact, Hypothesis, Session
from tests.copies import command_of_a_copy, serving_copy
from tests.factories import make_key, make_user
from tests.serving import ROOT, Served

pytestmark = pytest.mark.django_db(transaction=True)

KEPT, PER_CALL, STDIO, REST = "one connection", "a connection per call", "stdio", "REST"
WAYS = [
    ("legacy", KEPT),
    ("legacy", PER_CALL),
    ("auto", KEPT),
    ("auto", PER_CALL),
    ("legacy", STDIO),
    ("auto", STDIO),
    ("", REST),
]
"""How a program speaks: by the handshake of 2025-11-25 (legacy), without one since 2026-07-28 (auto), or over REST."""
FEW_WAYS = [("legacy", KEPT), ("auto", PER_CALL), ("", REST)]
"""One of each transport that is told of no conversation otherwise."""
BY_HANDLE, BY_HEADER, BY_NOTHING = "handle", "header", "nothing"


class Program:
    """One conversation of a program: it opens what its way of speaking asks for, and names itself as it is told to."""

    def __init__(self, served: Served, key: str, way: tuple[str, str], named: str = BY_NOTHING, run: str = "") -> None:
        self.served, self.key, (self.mode, self.transport), self.named = served, key, way, named
        self.run, self.handle, self.client = run, "", None

    @property
    def headers(self) -> dict[str, str]:
        """What each request carries."""
        named = {"BigMind-Conversation": self.run} if self.named == BY_HEADER else {}
        return {"Authorization": f"Bearer {self.key}", "User-Agent": "billing-bot/2.1", **named}

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator["Program"]:
        """Hold the connection, if there is one, for as long as the conversation lasts."""
        async with AsyncExitStack() as held:
            if self.transport in {KEPT, STDIO}:
                self.client = await held.enter_async_context(self._connect())
            yield self

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        if self.transport == STDIO:
            program, *words = command_of_a_copy("mcp")
            environment = self.served.environment | {"BIGMIND_API_KEY": self.key}
            started = StdioServerParameters(command=program, args=words, cwd=ROOT, env=environment)
            async with Client(stdio_client(started), mode=self.mode) as client:
                yield client
            return
        http = httpx2.AsyncClient(headers=self.headers, timeout=60)
        async with http, Client(streamable_http_client(self.served.mcp, http_client=http), mode=self.mode) as client:
            yield client

    async def start(self, project: str = "") -> None:
        """Start a session, and note the handle that the first line of the reply says."""
        text = await self.call("memory_start_session", **({"project": project} if project else {}))
        if self.named == BY_HANDLE:
            self.handle = json.loads(text)["handle"] if self.transport == REST else text.split("`")[1]

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool; the reply's text. A refusal fails the test."""
        if self.handle and tool != "memory_start_session":
            name = "source_session" if "source_session" in CATALOGUE[tool].arguments.model_fields else "session_id"
            arguments[name] = self.handle
        if self.transport == REST:
            return await self._send(tool, arguments)
        if self.client is not None:
            return await _call(self.client, tool, arguments)
        async with self._connect() as client:
            return await _call(client, tool, arguments)

    async def _send(self, tool: str, arguments: dict[str, Any]) -> str:
        operation = CATALOGUE[tool]
        path = operation.path
        for name in path_parameters(operation):
            path = path.replace(f"{{{name}}}", arguments.pop(name, "current"))
        async with httpx2.AsyncClient(headers=self.headers, timeout=60) as http:
            answer = await http.request(operation.method, f"{self.served.url}/api/v1/{path}", json=arguments)
        assert answer.status_code in {200, 201}, (tool, answer.text)
        return answer.text

    async def write(self, about: str) -> list[str]:
        """Write one of each kind; each text says whose it is."""
        return [
            await self.call("memory_store_fact", category="decision", fact=f"The ferry {about} has two decks."),
            await self.call("memory_flag_important", content=f"The captain of {about} is Ada."),
            await self.call("memory_add_hypothesis", hypothesis=f"I believe {about} is late because of the tide."),
        ]


async def _call(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    result = await client.call_tool(tool, arguments)
    text: str = result.content[0].text  # type: ignore[union-attr]
    assert not result.is_error, (tool, text)
    return text


def _written(user: User) -> dict[str, set[str]]:
    """Return the handles of the sessions that the writings of each conversation stand in; empty: in none."""
    found: dict[str, set[str]] = {}
    for chunk in Chunk.objects.filter(user=user).select_related("session"):
        found.setdefault(_about(chunk.content), set()).add(chunk.session_handle)
    for fact in Fact.objects.filter(user=user).select_related("source_session"):
        found.setdefault(_about(fact.fact), set()).add(fact.source_session.handle if fact.source_session else "")
    for belief in Hypothesis.objects.filter(user=user).select_related("session"):
        found.setdefault(_about(belief.hypothesis), set()).add(belief.session_handle)
    return found


def _about(text: str) -> str:
    return next(word for word in text.split() if word.startswith("run-"))


def _meet(served: Served) -> tuple[User, str]:
    user = make_user()
    return user, make_key(user, scopes={"read", "write"}).text


@pytest.mark.parametrize("way", [*FEW_WAYS, ("auto", STDIO)], ids=" ".join)
def test_after_a_conversation_that_was_left_open_everything_of_the_next_one_is_its_own(
    served: Served, way: tuple[str, str]
) -> None:
    user, key = _meet(served)

    async def days() -> None:
        # The first run crashed; nobody ends its session.
        async with Program(served, key, way).at_work() as crashed:
            await crashed.start("ferry")
            await crashed.write("run-1")
        cache.clear()
        async with Program(served, key, way).at_work() as next_one:
            await next_one.start("ferry")
            await next_one.write("run-2")
            await next_one.call("memory_end_session", one_liner="Counted the decks")

    anyio.run(days)

    assert _written(user) == {"run-1": {"S1"}, "run-2": {"S2"}}
    assert Session.objects.get(user=user, number=2).one_liner == "Counted the decks"
    assert Session.objects.get(user=user, number=1).is_open


@pytest.mark.parametrize(
    ("way", "named"),
    [
        *((way, BY_NOTHING) for way in WAYS),
        *((way, BY_HANDLE) for way in (*FEW_WAYS, ("auto", STDIO))),
        *((way, BY_HEADER) for way in (*FEW_WAYS, ("legacy", PER_CALL))),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one),
)
def test_two_at_once_under_one_key_never_stray_where_something_tells_them_apart(
    served: Served, way: tuple[str, str], named: str
) -> None:
    user, key = _meet(served)
    is_apart = named != BY_NOTHING or way[1] == STDIO or way == ("legacy", KEPT)

    async def work() -> list[str]:
        runs = [f"run-{number}" for number in (1, 2)]
        async with AsyncExitStack() as open_ones:
            programs = {}
            for run in runs:
                program = Program(served, key, way, named, run)
                programs[run] = await open_ones.enter_async_context(program.at_work())
                await program.start("ferry")
            turns = random.Random(2).sample(runs * 3, 6)
            return [reply for run in turns for reply in await programs[run].write(run)]

    replies = anyio.run(work)

    written = _written(user)
    assert Chunk.objects.filter(user=user).count() == 6
    assert all("S1" in reply or "S2" in reply for reply in replies), "each reply says where it went"
    if is_apart:
        assert written == {"run-1": {"S1"}, "run-2": {"S2"}}
    else:
        assert written.keys() == {"run-1", "run-2"}
        assert "" not in written["run-1"] | written["run-2"]


@pytest.mark.parametrize("way", FEW_WAYS, ids=" ".join)
def test_a_fact_that_names_its_project_goes_to_the_session_of_that_project(
    served: Served, way: tuple[str, str]
) -> None:
    user, key = _meet(served)

    async def work() -> None:
        for project in ("ferry", "depot"):
            async with Program(served, key, way).at_work() as program:
                await program.start(project)
        async with Program(served, key, way).at_work() as program:
            for project in ("ferry", "depot"):
                fact = f"The {project} of run-{project} is red."
                await program.call("memory_store_fact", category="decision", fact=fact, project=project)

    anyio.run(work)

    assert _written(user) == {"run-ferry": {"S1"}, "run-depot": {"S2"}}


@pytest.mark.parametrize("way", FEW_WAYS, ids=" ".join)
def test_without_any_session_nothing_is_refused_and_each_reply_says_so(served: Served, way: tuple[str, str]) -> None:
    user, key = _meet(served)

    async def work() -> list[str]:
        async with Program(served, key, way).at_work() as program:
            replies = await program.write("run-1")
            return [*replies, await program.call("memory_end_session", one_liner="Counted the decks")]

    fact, flagged, belief, _ = anyio.run(work)

    said = '"session_handle":""' if way[1] == REST else "no session"
    assert said in fact
    assert "S1" in flagged
    assert "S1" in belief
    assert _written(user)["run-1"] == {"", "S1"}
    assert Session.objects.get(user=user).one_liner == "Counted the decks"


@pytest.mark.parametrize("way", FEW_WAYS, ids=" ".join)
def test_a_named_run_goes_on_with_its_session_in_another_process(
    served: Served, way: tuple[str, str], tmp_path_factory: Any
) -> None:
    user, key = _meet(served)

    async def say(served: Served, run: str) -> None:
        async with Program(served, key, way, BY_HEADER, run).at_work() as program:
            await program.write(run)

    with serving_copy(tmp_path_factory.mktemp("other") / "log") as (other, _):
        for where, run in ((served, "run-1"), (other, "run-2"), (other, "run-1"), (served, "run-2")):
            anyio.run(say, where, run)

    assert _written(user) == {"run-1": {"S1"}, "run-2": {"S2"}}

"""`bigmind mcp`: MCP over standard input and output."""

import json
import subprocess
import sys
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from accounts.keys import revoke_key
from accounts.models import Agent, Role
from knowledge.capture.policies import set_policy
from knowledge.memory.trigger_levels import set_fact_triggers
from tests.copies import command_of_a_copy, run_copy
from tests.factories import make_actor, make_key, make_user
from tests.knowledge.factories import make_fact
from tests.serving import ROOT, Served

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}},
}


def _parameters(served: Served, *arguments: str, **variables: str) -> StdioServerParameters:
    program, *words = command_of_a_copy("mcp", *arguments)
    return StdioServerParameters(command=program, args=words, cwd=ROOT, env=served.environment | variables)


async def _conversation(parameters: StdioServerParameters, mode: str) -> str:
    async with Client(stdio_client(parameters), mode=mode) as client:
        await client.call_tool("memory_start_session", {})
        await client.call_tool("memory_store_fact", {"category": "preference", "fact": "Prefers tea."})
        await client.call_tool("memory_end_session", {"one_liner": "Chose a drink"})
        context = await client.call_tool("memory_start_session", {})
    return context.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_conversation_over_stdio_is_remembered_for_the_keys_user(served: Served, mode: str) -> None:
    user = make_user()

    context = anyio.run(_conversation, _parameters(served, BIGMIND_API_KEY=make_key(user).text), mode)

    assert "Prefers tea." in context
    assert "Chose a drink" in context
    assert user.facts.get().fact == "Prefers tea."


def test_without_a_key_the_owner_is_meant_in_personal_mode(served: Served) -> None:
    owner = make_user(role=Role.ADMIN)
    make_user(role=Role.ADMIN)

    anyio.run(_conversation, _parameters(served), "auto")

    assert owner.facts.count() == 1
    assert Agent.objects.get().user == owner


async def _refused(parameters: StdioServerParameters, calls: dict[str, dict[str, Any]]) -> list[str]:
    async with Client(stdio_client(parameters)) as client:
        replies = {name: await client.call_tool(name, arguments) for name, arguments in calls.items()}
    return [name for name, reply in replies.items() if reply.is_error]


def test_without_a_key_it_is_an_agent_that_decides_nothing_only_the_user_may(served: Served) -> None:
    owner = make_actor(make_user(role=Role.ADMIN))
    fact = make_fact(owner, "Deploys run on Tuesdays.")
    set_fact_triggers(owner, fact_id=fact.pk, triggers=["command: helm upgrade"])
    set_policy(owner, mode="read_only")
    calls = {
        "memory_store_fact": {"category": "preference", "fact": "Prefers tea."},
        "memory_set_fact_triggers": {"fact_id": fact.pk, "level": "block"},
        "memory_set_capture": {"mode": "automatic"},
    }

    refused = anyio.run(_refused, _parameters(served, "--toolsets", "all"), calls)

    assert refused == [*calls]


async def _tools(parameters: StdioServerParameters) -> list[str]:
    async with Client(stdio_client(parameters)) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


def test_toolsets_are_chosen_on_the_command_line(served: Served) -> None:
    key = make_key()

    names = anyio.run(_tools, _parameters(served, "--toolsets", "notes", BIGMIND_API_KEY=key.text))

    assert all(name.startswith("knowledge_") for name in names)


def _run(served: Served, **variables: str) -> "subprocess.CompletedProcess[str]":
    return run_copy(["mcp"], served.environment | variables)


def test_nothing_but_the_protocol_is_on_standard_output(served: Served) -> None:
    key = make_key()
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "nonsense"}}
    environment = served.environment | {"BIGMIND_API_KEY": key.text, "BIGMIND_LOG_LEVEL": "DEBUG"}

    with subprocess.Popen(
        [sys.executable, "manage.py", "mcp"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("".join(json.dumps(message) + "\n" for message in (INITIALIZE, call)).encode())
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        rest, _ = process.communicate(timeout=20)

    assert [answer["id"] for answer in answers] == [1, 2]
    assert rest == b""
    assert process.returncode == 0


def test_a_revoked_key_is_refused_in_the_next_request(served: Served) -> None:
    key = make_key()

    async def conversation() -> str:
        async with Client(stdio_client(_parameters(served, BIGMIND_API_KEY=key.text)), mode="legacy") as client:
            await client.call_tool("memory_list_facts", {})
            await anyio.to_thread.run_sync(revoke_key, key.key)
            refusal = await client.call_tool("memory_list_facts", {})
        return refusal.content[0].text  # type: ignore[union-attr]

    assert "revoked" in anyio.run(conversation)


def test_a_bad_key_is_one_sentence(served: Served) -> None:
    done = _run(served, BIGMIND_API_KEY="bm_wrong")

    assert done.returncode == 1
    assert done.stdout == ""
    assert "This is not a BigMind key" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_key_a_team_is_asked_for_one(served: Served) -> None:
    done = _run(served, BIGMIND_MODE="team")

    assert done.returncode == 1
    assert "BIGMIND_API_KEY" in done.stderr


NOWHERE = "postgres://nobody@127.0.0.1:1/nothing"


async def _away(parameters: StdioServerParameters) -> tuple[str, list[str], str]:
    async with Client(stdio_client(parameters), mode="legacy") as client:
        listed = await client.list_tools()
        reply = await client.call_tool("memory_recall", {"query": "When do deploys run?"})
        instructions = client.instructions or ""
    assert reply.is_error
    return instructions, [tool.name for tool in listed.tools], reply.content[0].text  # type: ignore[union-attr]


def test_when_bigmind_does_not_run_the_model_reads_so_in_one_line(served: Served) -> None:
    away = _parameters(served, BIGMIND_DATABASE_URL=NOWHERE, BIGMIND_API_KEY=make_key().text)

    instructions, listed, refusal = anyio.run(_away, away)

    assert instructions.startswith("BigMind, the persistent memory, is away")
    assert "memory_recall" in listed
    assert refusal == "BigMind is not running: start it with `make run`."


def test_when_bigmind_does_not_run_a_person_reads_one_line(served: Served) -> None:
    done = _run(served, BIGMIND_DATABASE_URL=NOWHERE, BIGMIND_API_KEY=make_key().text)

    assert done.stdout == ""
    assert done.stderr.strip().endswith("BigMind is not running: start it with `make run`.")
    assert len(done.stderr.strip().splitlines()) == 1

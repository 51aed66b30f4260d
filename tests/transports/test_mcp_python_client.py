"""The official Python client, of today's generation, in both manners of connecting."""

from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.factories import make_key
from tests.serving import Served

HANDSHAKE_AND_STATELESS = pytest.mark.parametrize("mode", ["legacy", "auto"])


async def _conversation(url: str, key: str, mode: str) -> str:
    """Work through one conversation, then return the context that the next one starts from."""
    async with _client(url, key, mode) as client:
        await client.call_tool("memory_start_session", {"project": "depot"})
        await client.call_tool("memory_store_fact", {"category": "preference", "fact": "Prefers tabs over spaces."})
        await client.call_tool("memory_store_fact", {"category": "decision", "fact": "Deploys on Tuesdays."})
        await client.call_tool("memory_flag_important", {"content": "We keep PostgreSQL.", "flag_reason": "Decided."})
        await client.call_tool("memory_end_session", {"one_liner": "Chose a database", "topics": ["postgres"]})
    async with _client(url, key, mode) as client:
        started = await client.call_tool("memory_start_session", {})
    return started.content[0].text  # type: ignore[union-attr]


def _client(url: str, key: str, mode: str = "auto") -> Client:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"})
    return Client(streamable_http_client(url, http_client=http), mode=mode)


@HANDSHAKE_AND_STATELESS
def test_the_next_session_knows_what_the_last_one_learned(served: Served, mode: str) -> None:
    key = make_key().text

    context = anyio.run(_conversation, served.mcp, key, mode)

    assert "Prefers tabs over spaces." in context
    assert "Deploys on Tuesdays." in context
    assert "Chose a database" in context


async def _surface(url: str, key: str, mode: str) -> dict[str, Any]:
    async with _client(url, key, mode) as client:
        return {
            "instructions": client.instructions,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "prompts": [prompt.name for prompt in (await client.list_prompts()).prompts],
            "resources": [resource.uri for resource in (await client.list_resources()).resources],
        }


@HANDSHAKE_AND_STATELESS
def test_a_client_finds_tools_prompts_resources_and_instructions(served: Served, mode: str) -> None:
    key = make_key().text

    surface = anyio.run(_surface, served.mcp, key, mode)

    assert surface["tools"][0] == "memory_start_session"
    assert surface["prompts"] == ["bigmind_init", "recall", "look_up", "promote", "wrap_up"]
    assert surface["resources"] == ["bigmind://context", "bigmind://instructions"]
    assert "memory_start_session" in surface["instructions"]

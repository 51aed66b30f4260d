"""The tests of the first design of documentation lookup (seed 003), each through an MCP client."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from accounts.models import Role
from tests.factories import make_key, make_user
from tests.serving import Served

TABLE = "│ Email            │ Name     │ Status │\n│ john@example.com │ John Doe │ Active │"
USERS_LIST = {
    "id": "cmd-gw-users-list",
    "type": "command",
    "title": "List Google Workspace Users",
    "category": "developer-console",
    "subcategory": "google-workspace",
    "content": "Lists all users synced from Google Workspace.\n\n**Syntax:**\n```\nhelios gw users list\n```\n\n"
    "**Options:**\n- No options available",
    "summary": "List all Google Workspace users",
    "keywords": ["users", "list", "google", "workspace", "directory"],
    "aliases": ["helios gw users list", "list google users", "show all users", "get users", "display users"],
    "examples": [{"description": "List all users", "code": "helios gw users list", "output": TABLE}],
    "relatedIds": ["cmd-gw-users-get", "cmd-gw-users-create"],
    "source": "auto-generated:DeveloperConsole.tsx",
    "lastUpdated": "2025-12-17T00:00:00Z",
}
GROUPS_CREATE = {
    "id": "cmd-gw-groups-create",
    "type": "command",
    "title": "Create a group",
    "name": "helios gw groups create",
    "category": "developer-console",
    "subcategory": "google-workspace",
    "content": "Creates a group.",
    "summary": "Create a Google Workspace group",
}
ENDPOINT = {
    "id": "api-users-list",
    "type": "api",
    "title": "List users",
    "name": "GET /api/v1/users",
    "category": "users",
    "content": "Returns users, a page at a time.",
    "summary": "List users",
    "endpoint": {"method": "GET", "path": "/api/v1/users"},
}

Call = Callable[..., Awaitable[tuple[dict[str, Any], str]]]


@pytest.fixture
def ask(served: Served) -> Callable[..., Any]:
    """Carry out what a test asks of a client that is connected to documented Helios."""
    key = make_key(make_user(role=Role.CURATOR), scopes=["read", "write", "curate"]).text

    def run(flow: Callable[[Call], Awaitable[Any]]) -> Any:
        async def connected() -> Any:
            http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30)
            async with Client(
                streamable_http_client(f"{served.mcp}?toolsets=docs&structured=full", http_client=http)
            ) as client:

                async def call(tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
                    result = await client.call_tool(tool, arguments)
                    said = result.content[0].text  # type: ignore[union-attr]
                    assert not result.is_error, said
                    return dict(result.structured_content or {}), said

                drafts = [USERS_LIST, GROUPS_CREATE, ENDPOINT]
                report, _ = await call("references_import", collection="helios", drafts=drafts)
                assert report["added"] == 3
                return await flow(call)

        return anyio.run(connected)

    return run


def _ids(found: dict[str, Any]) -> list[str]:
    return [item["reference"]["key"] for item in found["items"]]


def test_finds_command_by_exact_name(ask: Any) -> None:
    found, _ = ask(lambda call: call("search_knowledge", query="helios gw users list"))

    assert _ids(found)[0] == "cmd-gw-users-list"


@pytest.mark.parametrize("question", ["list all users", "get all users", "get users", "show all users"])
def test_finds_command_by_description_synonym_and_alias(ask: Any, question: str) -> None:
    found, said = ask(lambda call: call("search_knowledge", query=question))

    assert "cmd-gw-users-list" in _ids(found)
    assert "helios gw users list" in said


def test_returns_empty_for_unknown_commands_and_the_real_ones(ask: Any) -> None:
    found, said = ask(lambda call: call("search_knowledge", query="helios get-users"))

    assert found["items"] == []
    assert found["did_you_mean"][0] == "helios gw users list"
    assert "Did you mean “helios gw users list”?" in said


def test_provides_exact_syntax(ask: Any) -> None:
    found, said = ask(lambda call: call("get_command", command="helios gw users list"))

    assert "helios gw users list" in found["reference"]["content"]
    assert "```example\nhelios gw users list\n```" in said
    assert TABLE in said
    assert "collection helios" in said


def test_falls_back_to_the_list_of_commands(ask: Any) -> None:
    listed, said = ask(lambda call: call("list_commands", category="google-workspace"))

    assert [item["name"] for item in listed["items"]] == ["helios gw groups create", "helios gw users list"]
    assert "- `helios gw users list` List all Google Workspace users" in said


@pytest.mark.parametrize("asked", [{"path": "/api/v1/users", "method": "GET"}, {"path": "/users"}])
def test_gets_an_endpoint(ask: Any, asked: dict[str, str]) -> None:
    found, _ = ask(lambda call: call("get_api_endpoint", **asked))

    assert found["reference"]["key"] == "api-users-list"


@pytest.mark.parametrize(
    ("command", "exists", "nearest"),
    [
        ("helios gw users list", True, None),
        ("helios get-users", False, "helios gw users list"),
        ("GET /api/v1/usres", False, "GET /api/v1/users"),
    ],
)
def test_checks_what_was_written(ask: Any, command: str, exists: bool, nearest: str | None) -> None:
    checked, _ = ask(lambda call: call("check_command", command=command))

    assert checked["exists"] is exists
    assert nearest is None or nearest in checked["nearest"]


def test_the_tools_say_to_search_first_and_make_nothing_up(served: Served) -> None:
    headers = {"Authorization": f"Bearer {make_key().text}"}

    async def described() -> str:
        http = httpx2.AsyncClient(headers=headers, timeout=30)
        async with Client(
            streamable_http_client(f"{served.mcp}?toolsets=docs&structured=full", http_client=http)
        ) as client:
            tools = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
            return tools["search_knowledge"]

    said = anyio.run(described)

    assert "ALWAYS call this before you answer" in said
    assert "never make up" in said

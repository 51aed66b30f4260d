"""What to paste into each MCP client so that it finds BigMind, in the exact form that the client reads."""

import json
from dataclasses import dataclass
from typing import Any

from accounts.connecting.server_config import ServerConfig
from accounts.connecting.server_entries import Setting


@dataclass(frozen=True)
class Snippet:
    """One text to copy, and where it belongs."""

    label: str
    text: str


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def json_snippet(label: str, settings: list[Setting]) -> Snippet:
    """Return the entries of a client whose file, or whose dialog, takes JSON."""
    return Snippet(label, _json({setting.within: {setting.name: setting.value} for setting in settings}))


def claude_code(config: ServerConfig) -> list[Snippet]:
    """One command."""
    # Double quotes hold in every shell, Windows' included; unquoted, the ? of an address is a pattern to zsh.
    command = f'claude mcp add --scope user --transport http bigmind "{config.endpoint}"'
    return [Snippet("Run this once in a terminal", f'{command} --header "Authorization: {config.authorization}"')]


def codex(config: ServerConfig) -> list[Snippet]:
    """Codex reads TOML."""
    lines = (
        "[mcp_servers.bigmind]",
        f'url = "{config.endpoint}"',
        f'http_headers = {{ "Authorization" = "{config.authorization}" }}',
    )
    return [Snippet("~/.codex/config.toml", "\n".join(lines))]


def python(config: ServerConfig) -> list[Snippet]:
    """A whole program with the official client."""
    program = f"""\
import asyncio

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL = "{config.endpoint}"
HEADERS = {{"Authorization": "{config.authorization}"}}


async def main() -> None:
    async with httpx2.AsyncClient(headers=HEADERS) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as bigmind:
            started = await bigmind.call_tool("memory_start_session", {{}})
            print(started.content[0].text)


asyncio.run(main())"""
    return [Snippet('Python, after: pip install "mcp>=2.3"', program)]


def any_other(config: ServerConfig) -> list[Snippet]:
    """What most clients read, and the two ways to do without one."""
    server = {"type": "http", "url": config.endpoint, "headers": config.headers}
    return [
        Snippet("Any client that reads mcpServers", _json({"mcpServers": {"bigmind": server}})),
        Snippet("REST", _curl(config, f"{config.public_url}/api/v1/sessions/", {})),
        Snippet("MCP by hand", _mcp_by_hand(config)),
    ]


def _mcp_by_hand(config: ServerConfig) -> str:
    """One call without a handshake, as the revision 2026-07-28 allows: everything it needs is in its envelope."""
    revision, tool = "2026-07-28", "memory_start_session"
    sender = {"protocolVersion": revision, "clientCapabilities": {}, "clientInfo": {"name": "curl", "version": "1"}}
    envelope = {f"io.modelcontextprotocol/{name}": value for name, value in sender.items()}
    call = {"name": tool, "arguments": {}, "_meta": envelope}
    return _curl(
        config,
        config.endpoint,
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        "Accept: application/json, text/event-stream",
        f"MCP-Protocol-Version: {revision}",
        "Mcp-Method: tools/call",
        f"Mcp-Name: {tool}",
    )


def _curl(config: ServerConfig, url: str, body: dict[str, Any], *headers: str) -> str:
    sent = (f"Authorization: {config.authorization}", "Content-Type: application/json", *headers)
    return " \\\n  ".join([f'curl "{url}"', *(f'-H "{header}"' for header in sent), f"-d '{_json(body)}'"])

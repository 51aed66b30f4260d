"""What to paste into each MCP client so that it finds BigMind: the exact form that each of them reads."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

KEY_PLACEHOLDER = "bm_YOUR_KEY"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class Door:
    """What a client must be told to come in.

    Attributes:
        public_url: The address of this BigMind, as people and agents type it.
        key: The text of a key, or the placeholder for one.
        toolsets: The toolsets to list; empty means the default.
        command: How a client on the same machine starts `bigmind mcp`; empty when there is no such way.
        environment: What that command must find in its environment, besides the key.
    """

    public_url: str
    key: str = KEY_PLACEHOLDER
    toolsets: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def endpoint(self) -> str:
        """The address of the MCP endpoint, with the toolsets to list."""
        query = f"?toolsets={','.join(self.toolsets)}" if self.toolsets else ""
        return f"{self.public_url}/mcp{query}"

    @property
    def authorization(self) -> str:
        """The value of the Authorization header."""
        return f"Bearer {self.key}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers a client must send."""
        return {"Authorization": self.authorization}


@dataclass(frozen=True)
class Snippet:
    """One text to copy, and where it belongs."""

    label: str
    text: str


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def claude_code(door: Door) -> list[Snippet]:
    """One command."""
    # Double quotes hold in every shell, Windows' included; unquoted, the ? of an address is a pattern to zsh.
    command = f'claude mcp add --scope user --transport http bigmind "{door.endpoint}"'
    return [Snippet("Run this once in a terminal", f'{command} --header "Authorization: {door.authorization}"')]


def claude_desktop(door: Door) -> list[Snippet]:
    """Its file takes programs that it starts itself: `bigmind mcp` where that is possible, else a bridge."""
    label = "claude_desktop_config.json (Settings, Developer, Edit Config)"
    return [Snippet(label, _json({"mcpServers": {"bigmind": _started_here(door) or _bridged(door)}}))]


def _started_here(door: Door) -> dict[str, Any] | None:
    if not door.command:
        return None
    program, *arguments = door.command
    if door.toolsets:
        arguments += ["--toolsets", ",".join(door.toolsets)]
    environment = {"BIGMIND_API_KEY": door.key, **dict(door.environment)}
    return {"command": program, "args": arguments, "env": environment}


def _bridged(door: Door) -> dict[str, Any]:
    parts = urlsplit(door.public_url)
    arguments = ["-y", "mcp-remote", door.endpoint, "--header", "Authorization:${BIGMIND_AUTHORIZATION}"]
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        arguments.append("--allow-http")
    # Some versions split an argument at its spaces, so the header's value comes from the environment.
    return {"command": "npx", "args": arguments, "env": {"BIGMIND_AUTHORIZATION": door.authorization}}


def cursor(door: Door) -> list[Snippet]:
    """Cursor reads `mcpServers`."""
    server = {"url": door.endpoint, "headers": door.headers}
    return [Snippet("~/.cursor/mcp.json", _json({"mcpServers": {"bigmind": server}}))]


def vscode(door: Door) -> list[Snippet]:
    """VS Code reads `servers`, each with a type."""
    server = {"type": "http", "url": door.endpoint, "headers": door.headers}
    label = "mcp.json (command palette: MCP: Open User Configuration)"
    return [Snippet(label, _json({"servers": {"bigmind": server}}))]


def jetbrains(door: Door) -> list[Snippet]:
    """The Copilot plugin of JetBrains hands `requestInit` to its HTTP client."""
    server = {"url": door.endpoint, "requestInit": {"headers": door.headers}}
    label = "mcp.json (Copilot icon, Edit Settings, Model Context Protocol, Configure)"
    return [Snippet(label, _json({"servers": {"bigmind": server}}))]


def windsurf(door: Door) -> list[Snippet]:
    """Windsurf calls the address `serverUrl`."""
    server = {"serverUrl": door.endpoint, "headers": door.headers}
    return [Snippet("~/.codeium/windsurf/mcp_config.json", _json({"mcpServers": {"bigmind": server}}))]


def codex(door: Door) -> list[Snippet]:
    """Codex reads TOML."""
    lines = (
        "[mcp_servers.bigmind]",
        f'url = "{door.endpoint}"',
        f'http_headers = {{ "Authorization" = "{door.authorization}" }}',
    )
    return [Snippet("~/.codex/config.toml", "\n".join(lines))]


def gemini(door: Door) -> list[Snippet]:
    """Gemini calls the address `httpUrl`; its `url` means the older transport."""
    server = {"httpUrl": door.endpoint, "headers": door.headers}
    return [Snippet("~/.gemini/settings.json", _json({"mcpServers": {"bigmind": server}}))]


def python(door: Door) -> list[Snippet]:
    """A whole program with the official client."""
    program = f"""\
import asyncio

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL = "{door.endpoint}"
HEADERS = {{"Authorization": "{door.authorization}"}}


async def main() -> None:
    async with httpx2.AsyncClient(headers=HEADERS) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as bigmind:
            started = await bigmind.call_tool("memory_start_session", {{}})
            print(started.content[0].text)


asyncio.run(main())"""
    return [Snippet('Python, after: pip install "mcp>=2.3"', program)]


def any_other(door: Door) -> list[Snippet]:
    """What most clients read, and the two ways to do without one."""
    server = {"type": "http", "url": door.endpoint, "headers": door.headers}
    return [
        Snippet("Any client that reads mcpServers", _json({"mcpServers": {"bigmind": server}})),
        Snippet("REST", _curl(door, f"{door.public_url}/api/v1/sessions/", {})),
        Snippet("MCP by hand", _mcp_by_hand(door)),
    ]


def _mcp_by_hand(door: Door) -> str:
    """One call without a handshake, as the revision 2026-07-28 allows: everything it needs is in its envelope."""
    revision, tool = "2026-07-28", "memory_start_session"
    sender = {"protocolVersion": revision, "clientCapabilities": {}, "clientInfo": {"name": "curl", "version": "1"}}
    envelope = {f"io.modelcontextprotocol/{name}": value for name, value in sender.items()}
    call = {"name": tool, "arguments": {}, "_meta": envelope}
    return _curl(
        door,
        door.endpoint,
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        "Accept: application/json, text/event-stream",
        f"MCP-Protocol-Version: {revision}",
        "Mcp-Method: tools/call",
        f"Mcp-Name: {tool}",
    )


def _curl(door: Door, url: str, body: dict[str, Any], *headers: str) -> str:
    sent = (f"Authorization: {door.authorization}", "Content-Type: application/json", *headers)
    return " \\\n  ".join([f'curl "{url}"', *(f'-H "{header}"' for header in sent), f"-d '{_json(body)}'"])

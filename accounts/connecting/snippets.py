"""What to paste into each MCP client so that it finds BigMind, in the exact form that the client reads."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accounts.connecting import server_entries
from accounts.connecting.server_config import ServerConfig
from accounts.connecting.server_entries import Settings


@dataclass(frozen=True)
class Snippet:
    """One text to copy, and where it belongs."""

    label: str
    text: str


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _file(label: str, settings: Settings) -> Callable[[ServerConfig], list[Snippet]]:
    """Return what writes the entries of a client whose file, or whose dialog, takes JSON."""

    def write(config: ServerConfig) -> list[Snippet]:
        entries = {setting.within: {setting.name: setting.value} for setting in settings(config)}
        return [Snippet(label, _json(entries))]

    return write


# It takes programs that it starts itself.
claude_desktop = _file("claude_desktop_config.json (Settings, Developer, Edit Config)", server_entries.claude_desktop)
cursor = _file("~/.cursor/mcp.json", server_entries.cursor)
vscode = _file("mcp.json (command palette: MCP: Open User Configuration)", server_entries.vscode)
# The file of the Copilot plugin, the same for all IDEs.
jetbrains = _file("mcp.json (Copilot icon, Edit Settings, Model Context Protocol, Configure)", server_entries.jetbrains)
# AI Assistant takes JSON in a dialog and keeps it itself. A program to start is what every version takes.
jetbrains_ai = _file(
    "Settings, Tools, AI Assistant, Model Context Protocol, Add, as JSON", server_entries.claude_desktop
)
# Cascade's, which Devin Desktop reads as well.
windsurf = _file("~/.codeium/windsurf/mcp_config.json", server_entries.windsurf)
gemini = _file("~/.gemini/settings.json", server_entries.gemini)
copilot = _file("~/.copilot/mcp-config.json", server_entries.copilot)
# It reads like the one of Gemini CLI.
qwen = _file("~/.qwen/settings.json", server_entries.gemini)
opencode = _file("~/.config/opencode/opencode.json", server_entries.opencode)


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

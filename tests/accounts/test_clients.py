"""What is pasted into each client: the exact form that client reads, and what can be run as it is pasted."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accounts.connecting.offered_clients import make_server_config
from accounts.connecting.server_config import ServerConfig
from accounts.connecting.supported_clients import client_called
from tests.factories import make_key
from tests.serving import Served

URL = "http://localhost:7700"
KEY = "bm_0000"
HEADERS = {"Authorization": f"Bearer {KEY}"}


def snippet(slug: str, server: ServerConfig | None = None) -> str:
    client = client_called(slug)
    assert client is not None
    return client.snippets(server or ServerConfig(URL, KEY))[0].text


@pytest.mark.parametrize(
    ("slug", "expected"),
    [
        ("cursor", {"mcpServers": {"bigmind": {"url": f"{URL}/mcp", "headers": HEADERS}}}),
        ("vscode", {"servers": {"bigmind": {"type": "http", "url": f"{URL}/mcp", "headers": HEADERS}}}),
        ("jetbrains", {"servers": {"bigmind": {"url": f"{URL}/mcp", "requestInit": {"headers": HEADERS}}}}),
        ("windsurf", {"mcpServers": {"bigmind": {"serverUrl": f"{URL}/mcp", "headers": HEADERS}}}),
        ("gemini-cli", {"mcpServers": {"bigmind": {"httpUrl": f"{URL}/mcp", "headers": HEADERS}}}),
        ("other", {"mcpServers": {"bigmind": {"type": "http", "url": f"{URL}/mcp", "headers": HEADERS}}}),
    ],
)
def test_a_client_that_reads_json_gets_its_own_form(slug: str, expected: dict[str, Any]) -> None:
    assert json.loads(snippet(slug)) == expected


def test_codex_reads_toml() -> None:
    assert tomllib.loads(snippet("codex")) == {
        "mcp_servers": {"bigmind": {"url": f"{URL}/mcp", "http_headers": HEADERS}}
    }


def test_claude_code_gets_one_command_that_every_shell_takes() -> None:
    command = snippet("claude-code", ServerConfig(URL, KEY, ("core", "notes")))

    assert command == (
        f'claude mcp add --scope user --transport http bigmind "{URL}/mcp?toolsets=core,notes" '
        f'--header "Authorization: Bearer {KEY}"'
    )


def test_claude_desktop_starts_bigmind_where_it_runs_on_the_same_machine() -> None:
    here = ServerConfig(URL, KEY, ("all",), ("/venv/python", "-m", "bigmind", "mcp"), (("BIGMIND_HOME", "/data"),))

    server = json.loads(snippet("claude-desktop", here))["mcpServers"]["bigmind"]

    assert server == {
        "command": "/venv/python",
        "args": ["-m", "bigmind", "mcp", "--toolsets", "all"],
        "env": {"BIGMIND_API_KEY": KEY, "BIGMIND_HOME": "/data"},
    }


@pytest.mark.parametrize(
    ("url", "more"),
    [(URL, []), ("https://mind.example.com", []), ("http://mind.example.com", ["--allow-http"])],
)
def test_claude_desktop_needs_a_bridge_elsewhere(url: str, more: list[str]) -> None:
    server = json.loads(snippet("claude-desktop", ServerConfig(url, KEY)))["mcpServers"]["bigmind"]

    header = ["--header", "Authorization:${BIGMIND_AUTHORIZATION}"]
    assert server["args"] == ["-y", "mcp-remote", f"{url}/mcp", *header, *more]
    assert server["env"] == {"BIGMIND_AUTHORIZATION": f"Bearer {KEY}"}


@pytest.mark.parametrize(
    ("mode", "url", "is_embedded", "is_here"),
    [
        ("personal", URL, True, True),
        ("personal", "https://mind.example.com", True, False),
        ("personal", URL, False, False),
        ("team", URL, True, False),
    ],
)
def test_paths_of_this_machine_are_told_only_where_it_is_surely_the_readers(settings, mode, url, is_embedded, is_here):
    settings.PUBLIC_URL = url
    settings.ENVIRONMENT = SimpleNamespace(mode=mode, is_embedded=is_embedded, home=Path("/data"))

    assert bool(make_server_config().command) == is_here


def test_the_python_program_runs_as_it_is_pasted(served: Served) -> None:
    program = snippet("python", ServerConfig(served.url, make_key().text, ("core", "notes")))

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert ran.returncode == 0, ran.stderr
    assert "Session" in ran.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("label", ["MCP by hand", "REST"])
def test_the_commands_for_curl_run_as_they_are_pasted(served: Served, label: str) -> None:
    client = client_called("other")
    assert client is not None
    command = {found.label: found.text for found in client.snippets(ServerConfig(served.url, make_key().text))}[label]

    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)

    # The reply over MCP is text, that over REST a record.
    assert re.search(r'Session `S\d+` is open|"session_id"', ran.stdout), ran.stdout + ran.stderr


def test_claude_desktop_can_start_what_it_is_told_to(served: Served) -> None:
    here = ServerConfig(served.url, make_key().text, ("core",), (sys.executable, "-m", "bigmind", "mcp"))
    server = json.loads(snippet("claude-desktop", here))["mcpServers"]["bigmind"]
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-ai", "version": "1"}}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})

    ran = subprocess.run(
        [server["command"], *server["args"]],
        env={**served.environment, **server["env"]},
        input=f"{request}\n",
        capture_output=True,
        text=True,
        timeout=60,
        cwd="/",
    )

    assert json.loads(ran.stdout.splitlines()[0])["result"]["serverInfo"]["name"].lower() == "bigmind", ran.stderr

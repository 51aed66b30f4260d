"""Plugins: a folder that clients install, without a key in it, whose hooks work from where they are copied to."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from accounts.models import ApiKey, User
from tests.connecting.homes import run
from tests.connecting.hook_server import HookServer


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def call(home: Path, folder: Path, hooks: str, variable: str, **variables: str) -> dict[str, Any]:
    """Run the command of the start as a client does; return what it printed."""
    entries = json.loads((folder / hooks).read_text())["hooks"]
    command = entries["SessionStart"][0]["hooks"][0]["command"].replace("${extensionPath}", str(folder))
    event = json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(home)})
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], variable: str(folder), **variables}
    done = subprocess.run(["sh", "-c", command], input=event, capture_output=True, text=True, env=environment)
    assert done.returncode == 0
    printed = json.loads(done.stdout)
    assert isinstance(printed, dict)
    return printed


def test_one_folder_serves_claude_code_and_codex(home: Path, ada: User, server: HookServer) -> None:
    printed, _ = run("connect", "claude-code", "--plugin", str(home / "made"))
    first = texts(home / "made")
    run("connect", "codex", "--plugin", str(home / "made"))

    assert texts(home / "made") == first
    assert "bm_" not in json.dumps({name: text for name, text in first.items() if not name.endswith(".py")})
    assert f"claude plugin marketplace add {home}/made && claude plugin install bigmind@bigmind" in printed
    assert json.loads(first["bigmind/.mcp.json"])["mcpServers"]["bigmind"] == {
        "type": "http",
        "url": f"{server.url}/mcp",
        "headers": {"Authorization": "Bearer ${BIGMIND_API_KEY}"},
    }
    assert {hook["type"] for hook in all_hooks(first["bigmind/hooks/codex.json"])} == {"command"}
    assert ApiKey.objects.count() == 0


def all_hooks(text: str) -> list[dict[str, Any]]:
    return [hook for groups in json.loads(text)["hooks"].values() for group in groups for hook in group["hooks"]]


@pytest.mark.parametrize(
    ("client", "inside", "hooks"),
    [
        ("claude-code", "bigmind", "hooks/hooks.json"),
        ("codex", "bigmind", "hooks/codex.json"),
        ("gemini-cli", "", "hooks/hooks.json"),
    ],
)
def test_its_hooks_work_where_the_client_copies_them_to(
    home: Path, ada: User, server: HookServer, client: str, inside: str, hooks: str
) -> None:
    server.reply = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "Known: tabs."}}
    run("connect", client, "--plugin", str(home / "made"))
    copied = home / "cache/my copy"
    shutil.copytree(home / "made" / inside, copied)
    shutil.rmtree(home / "made")

    with_key = call(home, copied, hooks, "CLAUDE_PLUGIN_ROOT", BIGMIND_API_KEY="bm_x")
    without_one = call(home, copied, hooks, "CLAUDE_PLUGIN_ROOT")

    assert with_key == server.reply
    assert without_one == {}
    assert [(path, key) for path, key, _ in server.heard] == [(f"/hooks/{client}/", "Bearer bm_x")]


def test_an_extension_names_its_server_its_key_and_its_rules(home: Path, ada: User, server: HookServer) -> None:
    run("connect", "gemini-cli", "--plugin", str(home / "made"), "--events", "start,end")

    found = texts(home / "made")
    described = json.loads(found["gemini-extension.json"])
    assert described["mcpServers"]["bigmind"]["headers"] == {"Authorization": "Bearer $BIGMIND_API_KEY"}
    assert described["settings"][0]["envVar"] == "BIGMIND_API_KEY"
    assert set(json.loads(found["hooks/hooks.json"])["hooks"]) == {"SessionStart", "SessionEnd"}
    assert "{{args}}" in found["commands/recall.toml"]
    assert "memory" in found["GEMINI.md"]


def test_a_folder_with_something_else_is_left_alone(home: Path, ada: User) -> None:
    (home / "made").mkdir()
    (home / "made/thesis.txt").write_text("mine")

    with pytest.raises(CommandError, match="holds something else"):
        run("connect", "claude-code", "--plugin", str(home / "made"))
    with pytest.raises(CommandError, match="--plugin is for"):
        run("connect", "cursor", "--plugin", str(home / "other"))

    assert texts(home) == {"made/thesis.txt": "mine"}

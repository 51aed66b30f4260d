"""`bigmind connect` and `bigmind disconnect`, as people type them."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, get_commands, load_command_class
from django.db import OperationalError

from accounts.authentication import BadKey, authenticate_key
from accounts.connecting.supported_clients import PROGRAMS
from accounts.keys import revoke_key
from accounts.models import ApiKey, User
from tests.connecting.homes import run
from tests.factories import make_key

URL = "http://localhost:7700"


def key_in(path: Path) -> str:
    server = json.loads(path.read_text())["mcpServers"]["bigmind"]
    return str(server["headers"]["Authorization"]).removeprefix("Bearer ")


def test_one_command_connects_with_a_key_of_its_own(home: Path, ada: User) -> None:
    printed, remarked = run("connect", "claude-code")

    text = key_in(home / ".claude.json")
    assert authenticate_key(text).user == ada
    key = ApiKey.objects.get()
    assert key.label.startswith("Claude Code on ")
    assert key.scopes == ["read", "write"]
    assert f"{home}/.claude.json: made" in printed
    assert "bigmind:begin" in (home / ".claude/CLAUDE.md").read_text()
    assert f"{text[:8]}…" in printed
    assert text not in printed + remarked


def test_a_second_time_makes_no_second_key_unless_the_first_has_ended(home, ada):
    run("connect", "cursor")
    first = (home / ".cursor/mcp.json").read_text()

    printed, remarked = run("connect", "cursor")
    second, keys = (home / ".cursor/mcp.json").read_text(), ApiKey.objects.count()
    revoke_key(ApiKey.objects.get())
    run("connect", "cursor")
    text = key_in(home / ".cursor/mcp.json")
    run("disconnect", "cursor", "--keep-key")

    assert (second, keys) == (first, 1)
    assert "mcp.json: as it was" in printed
    assert "the one that was there" in remarked
    assert authenticate_key(text).user == ada


def test_disconnecting_restores_the_file_and_ends_the_key(home: Path, ada: User) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text('{ "mcpServers": {} }')
    run("connect", "cursor")
    text = key_in(home / ".cursor/mcp.json")

    _, remarked = run("disconnect", "cursor")

    assert (home / ".cursor/mcp.json").read_text() == '{ "mcpServers": {} }'
    assert "opens nothing any more" in remarked
    with pytest.raises(BadKey):
        authenticate_key(text)


def test_a_given_key_is_used_and_not_ended(home: Path, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    given = make_key(ada)
    monkeypatch.setenv("BIGMIND_API_KEY", given.text)

    run("connect", "cursor", "--toolsets", "notes,core")
    written = json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]["bigmind"]
    run("disconnect", "cursor")

    assert written["headers"] == {"Authorization": f"Bearer {given.text}"}
    assert written["url"] == f"{URL}/mcp?toolsets=core,notes"
    assert authenticate_key(given.text).user == ada
    assert ApiKey.objects.count() == 1


def test_a_rehearsal_writes_nothing_and_makes_no_key(home: Path, ada: User) -> None:
    printed, _ = run("connect", "gemini-cli", "--dry-run")

    assert "settings.json: would be created" in printed
    assert '+    "bigmind": {' in printed
    assert list(home.iterdir()) == []
    assert ApiKey.objects.count() == 0


def test_a_malformed_file_costs_no_key(home: Path, ada: User) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text("{\n  oops\n}")

    with pytest.raises(CommandError, match=r"mcp\.json, line 2: a name in double quotes is expected"):
        run("connect", "cursor")

    assert ApiKey.objects.count() == 0
    assert (home / ".cursor/mcp.json").read_text() == "{\n  oops\n}"


def test_a_project_needs_no_key_and_says_where_it_comes_from(home: Path, ada: User) -> None:
    (home / "engine/.git").mkdir(parents=True)

    _, remarked = run("connect", "claude-code", "--project", str(home / "engine"))

    assert "${BIGMIND_API_KEY}" in (home / "engine/.mcp.json").read_text()
    assert "reads the key from the variable BIGMIND_API_KEY" in remarked
    assert ApiKey.objects.count() == 0


def test_what_no_file_can_say_is_told(home: Path, ada: User) -> None:
    printed, _ = run("connect", "claude-desktop")

    assert "By hand, in Claude Desktop, Settings, General, personal preferences:" in printed
    assert "call memory_start_session first" in printed


def test_where_nothing_can_be_written_no_key_is_made(home: Path, ada: User) -> None:
    printed, remarked = run("connect", "jetbrains-ai")

    assert '"BIGMIND_' in printed
    assert "put one of yours where bm_YOUR_KEY stands" in remarked
    assert ApiKey.objects.count() == 0


@pytest.mark.parametrize("name", ["connect", "disconnect"])
def test_help_names_every_program_and_shows_examples(name: str) -> None:
    text = load_command_class(get_commands()[name], name).create_parser("bigmind", name).format_help()

    assert all(program.slug in text for program in PROGRAMS)
    assert text.count(f"bigmind {name}") > 1


def test_another_bigmind_needs_a_key_of_its_own(home: Path, ada: User) -> None:
    with pytest.raises(CommandError, match="Give one with BIGMIND_API_KEY or --key"):
        run("connect", "cursor", "--url", "https://mind.example.com")

    run("connect", "cursor", "--url", "https://mind.example.com/mcp/", "--key", make_key(ada).text)

    assert '"https://mind.example.com/mcp"' in (home / ".cursor/mcp.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cursor", "--key", "bm_short"), "begin with bm_"),
        (("cursor", "--url", "http://0.0.0.0:7700"), "one to listen on"),
        (("cursor", "--url", "mind"), "must be an address"),
        (("cursor", "--toolsets", "everything"), "There is no toolset"),
        (("cursor", "--project", "nowhere"), "must be a folder"),
        (("abacus",), "invalid choice"),
        (("cursor", "--user", "nobody"), "nobody"),
    ],
)
def test_what_makes_no_sense_is_refused(home: Path, ada: User, arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        run("connect", *arguments)

    assert list(home.iterdir()) == []


def test_at_work_it_must_be_said_whose_key_is_made(home: Path, ada: User, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"

    with pytest.raises(CommandError, match="--user"):
        run("connect", "cursor")
    run("connect", "cursor", "--user", "ada")

    key = ApiKey.objects.get()
    assert key.user == ada
    assert key.expires_at is not None


def test_without_a_database_a_key_must_be_given(home: Path, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError("away")

    monkeypatch.setattr("bigmind.management.commands.connect.owner_of_instance", away)

    with pytest.raises(CommandError, match="does not run on this machine"):
        run("connect", "cursor")

    assert list(home.iterdir()) == []


def test_a_script_reads_json_without_the_key(home: Path, ada: User) -> None:
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text("# mine\n")

    document = json.loads(run("connect", "codex", "--json")[0])
    undone = json.loads(run("disconnect", "codex", "--json")[0])

    key = ApiKey.objects.get()
    assert document["client"] == "codex"
    assert [file["state"] for file in document["files"]] == ["changed", "created"]
    assert document["files"][0]["backup"].endswith(".before")
    assert document["key"]["prefix"] == key.prefix
    assert "memory_start_session" in document["files"][1]["difference"]
    assert [file["state"] for file in undone["files"]] == ["removed", "changed"]
    assert undone["keys_revoked"] == [key.prefix]
    assert (home / ".codex/config.toml").read_text() == "# mine\n"

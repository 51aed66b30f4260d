"""`bigmind connect` and `disconnect` with hooks: nothing without consent, and what is installed works."""

import json
import os
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import ApiKey, User
from knowledge.models import CapturePolicy
from tests.connecting.homes import run
from tests.connecting.hook_server import HookServer


class Terminal(StringIO):
    """Standard output of a person at work."""

    def isatty(self) -> bool:
        return True


def told(home: Path, client: str) -> dict[str, Any]:
    document = json.loads((home.parent / "bigmind/hooks" / f"{client}.json").read_text())
    assert isinstance(document, dict)
    return document


def commands(file: Path) -> set[str]:
    found = json.loads(file.read_text())["hooks"].values()
    return {hook["command"] for groups in found for group in groups for hook in group["hooks"] if "command" in hook}


def test_nothing_is_installed_without_consent(home: Path, ada: User) -> None:
    printed, remarked = run("connect", "claude-code")

    assert not (home / ".claude/settings.json").exists()
    assert not (home.parent / "bigmind/hooks").exists()
    assert "No hooks were installed: bigmind connect claude-code --hooks does." in remarked
    assert "settings.json" not in printed


@pytest.mark.parametrize(("answer", "is_installed"), [("y", True), ("", False), ("no", False)])
def test_a_person_is_shown_what_each_hook_reads_and_asked(home, ada, monkeypatch, answer, is_installed):
    asked: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or answer)

    terminal = Terminal()

    call_command("connect", "codex", stdout=terminal, stderr=StringIO())

    printed = terminal.getvalue()
    assert asked[0] == "Install them? [y/N] "
    assert "SessionStart: when a conversation starts" in printed
    assert "Reads and sends: the prompt." in printed
    assert printed.count("<private>") == 1
    assert (home / ".codex/hooks.json").exists() == is_installed


def test_the_program_is_installed_with_the_key_and_works(home: Path, ada: User, server: HookServer) -> None:
    server.reply = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "Known: tabs."}}
    _, remarked = run("connect", "codex", "--hooks")
    command = next(one for one in commands(home / ".codex/hooks.json") if "bigmind_hook.py" in one)

    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    event = json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(home)})
    done = subprocess.run(["sh", "-c", command], input=event, capture_output=True, text=True, env=environment)

    key = ApiKey.objects.get()
    assert json.loads(done.stdout) == server.reply
    assert server.heard[0][0] == "/hooks/codex/"
    assert server.heard[0][1].removeprefix("Bearer ").startswith(key.prefix)
    assert "Codex runs no hook that you have not trusted" in remarked
    assert "bm_" not in (home / ".codex/hooks.json").read_text()
    assert (home.parent / "bigmind/hooks/codex.json").stat().st_mode & 0o077 == 0


def test_a_client_goes_on_when_bigmind_is_gone_from_the_machine(home: Path, ada: User) -> None:
    run("connect", "codex", "--hooks")
    found = commands(home / ".codex/hooks.json")
    for name in ("bigmind_hook.py", "bigmind_act.py"):
        (home.parent / "bigmind/hooks" / name).unlink()

    done = [subprocess.run(["sh", "-c", one], input="{}", capture_output=True, text=True) for one in found]

    # Exit 2, which Python leaves with where there is no file, would refuse every prompt.
    assert {(one.returncode, one.stdout) for one in done} == {(0, "")}
    assert len(done) == 2


def test_hooks_stay_when_a_client_is_connected_again(home: Path, ada: User) -> None:
    run("connect", "codex", "--hooks", "--events", "start,end", "--never", "~/private")
    first = (home / ".codex/hooks.json").read_bytes()

    run("connect", "codex")

    assert (home / ".codex/hooks.json").read_bytes() == first
    assert told(home, "codex")["events"] == ["start", "end"]
    assert told(home, "codex")["never"] == [str(home / "private")]
    assert set(json.loads(first)["hooks"]) == {"SessionStart", "SessionEnd"}


def test_where_folders_are_left_out_claude_code_sends_nothing_itself(home: Path, ada: User) -> None:
    run("connect", "claude-code", "--hooks")
    alone = (home / ".claude/settings.json").read_text()
    run("connect", "claude-code", "--never", "private")

    text = (home / ".claude/settings.json").read_text()
    assert '"http"' in alone
    assert '"http"' not in text
    assert "bm_" not in text
    assert told(home, "claude-code")["never"] == [str(home / "private")]


def test_hooks_can_be_taken_out_alone(home: Path, ada: User) -> None:
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text('{"hooks": {"AfterAgent": []}}')
    run("connect", "gemini-cli", "--hooks")

    run("connect", "gemini-cli", "--no-hooks")

    document = json.loads((home / ".gemini/settings.json").read_text())
    assert "bigmind" in document["mcpServers"]
    assert "bigmind_hook" not in json.dumps(document)
    assert not (home.parent / "bigmind/hooks").exists()
    run("disconnect", "gemini-cli")
    assert (home / ".gemini/settings.json").read_text() == '{"hooks": {"AfterAgent": []}}'


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini-cli", "cursor"])
def test_disconnecting_takes_hooks_program_and_spool(home: Path, ada: User, client: str) -> None:
    run("connect", client, "--hooks")
    spool = home.parent / f"bigmind/hooks/spool/{client}"
    spool.mkdir(parents=True)
    (spool / "1.json").write_text("{}")

    run("disconnect", client)

    assert list(home.rglob("*")) == []
    assert not (home.parent / "bigmind/hooks").exists()


def test_a_project_keeps_the_program_until_both_are_disconnected(home: Path, ada: User) -> None:
    (home / "engine/.git").mkdir(parents=True)
    run("connect", "claude-code", "--hooks")
    run("connect", "claude-code", "--hooks", "--project", str(home / "engine"))

    text = (home / "engine/.claude/settings.local.json").read_text()
    run("disconnect", "claude-code")
    assert told(home, "claude-code")["places"] == [str(home / "engine")]
    run("disconnect", "claude-code", "--project", str(home / "engine"))

    assert "bm_" not in text
    assert not (home.parent / "bigmind/hooks").exists()
    assert sorted(path.name for path in (home / "engine").rglob("*")) == [".git"]


def test_a_rehearsal_shows_the_hooks_and_writes_nothing(home: Path, ada: User) -> None:
    printed, _ = run("connect", "claude-code", "--hooks", "--dry-run")

    assert "settings.json: would be created" in printed
    assert "UserPromptSubmit: when you send a prompt" in printed
    assert list(home.iterdir()) == []
    assert not (home.parent / "bigmind/hooks").exists()


def test_a_script_reads_what_each_hook_does(home: Path, ada: User) -> None:
    offered = json.loads(run("connect", "claude-code", "--json", "--dry-run")[0])["hooks"]
    installed = json.loads(run("connect", "codex", "--json", "--hooks", "--events", "start")[0])
    none = json.loads(run("connect", "windsurf", "--json")[0])["hooks"]

    assert offered["installed"] is False
    kinds = ["start", "prompt", "tool", "act", "act", "act", "act", "stop", "compact", "end"]
    assert [event["kind"] for event in offered["events"]] == kinds
    assert all(event["reads_and_sends"] and event["when"] for event in offered["events"])
    assert [event["event"] for event in installed["hooks"]["events"]] == ["SessionStart"]
    assert {"kind": "hooks", "state": "created"}.items() <= installed["files"][-1].items()
    assert none is None


def test_a_malformed_file_of_hooks_costs_no_key_and_changes_nothing(home: Path, ada: User) -> None:
    (home / ".codex").mkdir()
    (home / ".codex/hooks.json").write_text('{\n  "hooks": [\n')

    with pytest.raises(CommandError, match=r"hooks\.json, line"):
        run("connect", "codex", "--hooks")

    assert ApiKey.objects.count() == 0
    assert sorted(path.name for path in home.rglob("*")) == [".codex", "hooks.json"]
    assert not (home.parent / "bigmind/hooks").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("windsurf", "--hooks"), "no hooks that BigMind knows"),
        (("codex", "--hooks", "--events", "stopp"), "There is no event stopp"),
        (("codex", "--hooks", "--no-hooks"), "not allowed with"),
    ],
)
def test_what_cannot_be_is_refused(home: Path, ada: User, arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        run("connect", *arguments)

    assert list(home.iterdir()) == []


@pytest.mark.parametrize(("answer", "mode"), [("", "automatic"), ("After asking", "ask"), ("read_only", "read_only")])
def test_a_person_who_has_not_chosen_is_asked_once_how_memory_is_written(home, ada, monkeypatch, answer, mode):
    asked: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or answer)

    for _ in range(2):
        call_command("connect", "codex", "--no-hooks", stdout=Terminal(), stderr=StringIO())

    assert CapturePolicy.objects.get().mode == mode
    assert [question for question in asked if question.startswith("By itself")] == asked
    assert len(asked) == 1


def test_a_script_says_how_memory_is_written_and_is_not_asked(home: Path, ada: User) -> None:
    run("connect", "codex")
    assert not CapturePolicy.objects.exists()

    _, remarked = run("connect", "codex", "--writing", "manual")

    assert CapturePolicy.objects.get().mode == "manual"
    assert "Memory is written: by hand." in remarked

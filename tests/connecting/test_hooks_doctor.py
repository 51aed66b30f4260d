"""`bigmind doctor` runs the hooks that are installed, and says what to do about those that fail."""

from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from bigmind.embedded.doctor_checks import CheckStatus, check_hooks
from bigmind.embedded.up import renew_hooks
from tests.connecting.homes import run
from tests.connecting.hook_server import HookServer


def look(settings: Any) -> tuple[CheckStatus, str, str]:
    (check,) = check_hooks(settings.ENVIRONMENT)
    return check.status, check.found, check.advice


def test_without_hooks_all_is_well(home: Path, settings: Any) -> None:
    assert look(settings) == (CheckStatus.OK, "none are installed", "")


@pytest.mark.parametrize("client", ["claude-code", "gemini-cli", "cursor", "copilot"])
def test_each_entry_is_run_for_real(home: Path, ada: User, server: HookServer, settings: Any, client: str) -> None:
    run("connect", client, "--hooks")

    status, found, advice = look(settings)

    assert (status, advice) == (CheckStatus.OK, "")
    assert found.startswith(f"{client}: ")
    assert found.endswith(" ms")
    assert {event["hook_event_name"] for event in server.events} == {"Ping"}
    # Claude Code has two ways: its own, and the program. The one for acts asks nobody.
    assert len(server.heard) == {"claude-code": 2, "gemini-cli": 1, "cursor": 4, "copilot": 3}[client]


def test_codex_is_asked_whether_it_trusts_them(home: Path, ada: User, server: HookServer, settings: Any) -> None:
    run("connect", "codex", "--hooks")
    status, found, advice = look(settings)
    file = home / ".codex/hooks.json"
    config = home / ".codex/config.toml"
    names = ("session_start", "user_prompt_submit", "stop", "pre_compact", "session_end", "pre_tool_use")
    events = [*(f"{name}:0" for name in names), "user_prompt_submit:1", "post_tool_use:0"]
    trusted = "".join(f'\n[hooks.state."{file}:{event}:0"]\ntrusted_hash = "sha256:x"\n' for event in events)
    config.write_text(config.read_text() + trusted)

    assert (status, "8 of them are not trusted" in found) == (CheckStatus.WARNING, True)
    assert "Trust all" in advice
    assert look(settings)[0] == CheckStatus.OK


def test_a_wrong_key_is_a_problem(home: Path, ada: User, server: HookServer, settings: Any) -> None:
    run("connect", "gemini-cli", "--hooks")
    server.status = 401

    assert look(settings) == (
        CheckStatus.PROBLEM,
        "gemini-cli: BigMind answers 401",
        "Run: bigmind connect gemini-cli --hooks",
    )


def test_a_bigmind_that_is_away_is_no_problem_of_the_client(home: Path, ada: User, settings: Any) -> None:
    settings.PUBLIC_URL = "http://127.0.0.1:1"
    run("connect", "gemini-cli", "--hooks")
    spool = home.parent / "bigmind/hooks/spool/gemini-cli"
    spool.mkdir(parents=True)
    (spool / "1.json").write_text("{}" * 1024)

    status, found, advice = look(settings)

    assert status == CheckStatus.WARNING
    assert "refused" in found
    assert "1 events (2 KB) wait to be sent" in found
    assert advice == "Clients go on. Start BigMind, and it gets what waits."


def test_a_program_that_is_gone_is_a_problem(home: Path, ada: User, settings: Any) -> None:
    run("connect", "gemini-cli", "--hooks")
    (home.parent / "bigmind/hooks/bigmind_hook.py").unlink()

    status, found, advice = look(settings)

    assert status == CheckStatus.PROBLEM
    assert "the hook program is missing" in found
    assert advice == "Run: bigmind connect gemini-cli --hooks"


def test_an_older_program_is_noticed_and_renewed_when_bigmind_starts(home, ada, server, settings):
    run("connect", "gemini-cli", "--hooks")
    program = home.parent / "bigmind/hooks/bigmind_hook.py"
    current = program.read_text()
    program.write_text(current + "\n# An older one.\n")

    _, older = check_hooks(settings.ENVIRONMENT)
    renew_hooks(settings.ENVIRONMENT, print)

    assert (older.status, older.found) == (CheckStatus.WARNING, "the hook program is of another version")
    assert program.read_text() == current
    assert look(settings)[0] == CheckStatus.OK


def test_where_no_client_has_hooks_none_are_renewed(home: Path, settings: Any) -> None:
    renew_hooks(settings.ENVIRONMENT, print)

    assert not (home.parent / "bigmind/hooks").exists()


def test_a_program_that_cannot_be_renewed_does_not_stop_bigmind(home: Path, settings: Any) -> None:
    # A file where a folder belongs refuses even root.
    (home.parent / "bigmind/hooks").mkdir(parents=True)
    (home.parent / "bigmind/hooks/bigmind_hook.py").write_text("")
    (home.parent / "bigmind/hooks/bigmind_screening").write_text("")
    told: list[str] = []

    renew_hooks(settings.ENVIRONMENT, told.append)

    assert told[0].startswith("Hooks keep the program of an older version.")


def test_entries_that_somebody_took_out_are_missed(home: Path, ada: User, settings: Any) -> None:
    run("connect", "codex", "--hooks")
    (home / ".codex/hooks.json").write_text("{}")

    assert look(settings)[:2] == (CheckStatus.PROBLEM, "codex: no entries are left")

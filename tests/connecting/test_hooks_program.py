"""The hook program as clients run it: what it sends, what it keeps, and that it never holds up or breaks a client."""

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accounts.connecting.act_program import sign
from accounts.connecting.hook_files import HookConfig, HookFolder
from accounts.connecting.hook_program import AWAY, BACK, LATE, REFUSED, choose
from accounts.connecting.hooks import ACT_FILE, PROGRAM_FILE
from bigmind.privacy.screening import redact
from tests.connecting.hook_server import HookServer
from tests.core.secret_corpus import secrets_in_context

KEY = f"bm_{'K' * 38}"
SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3hJ5"
START = {"session_id": "s-1", "hook_event_name": "SessionStart", "source": "startup"}
PROMPT = {"session_id": "s-1", "hook_event_name": "UserPromptSubmit", "prompt": "How are the deploys done?"}
COMPACT = {"session_id": "s-1", "hook_event_name": "PreCompact", "trigger": "auto"}
# What is sent does not depend on the event, and the start leaves a busy machine the most time.
SAID = {**START, "prompt": "How are the deploys done?"}
STOP = {"session_id": "s-1", "hook_event_name": "Stop", "last_assistant_message": "Done."}


class Installed:
    """A hook program in a home of its own, which talks to a server of the test's."""

    def __init__(self, folder: Path, server: HookServer) -> None:
        self.home = folder / "home"
        self.work = self.home / "work"
        self.work.mkdir(parents=True)
        self.folder = HookFolder(folder / "bigmind" / "hooks")
        self.server = server
        self.configure()

    def configure(self, **changes: Any) -> None:
        told: dict[str, Any] = {"client": "claude-code", "url": self.server.url, "key": KEY, "places": ["user"]}
        self.folder.write(HookConfig(**{**told, **changes}))

    def keep_records(self) -> None:
        """Let the program for acts record what is done, as BigMind signs it."""
        matched = json.dumps({"records": True, "texts": "", "items": []})
        path = self.folder.folder / "triggers/claude-code.set"
        path.parent.mkdir()
        path.write_text(f"{sign(KEY, matched.encode())}\n{matched}\n")

    def start(
        self, raw: bytes, client: str = "claude-code", *more: str, file: str = PROGRAM_FILE, **variables: str
    ) -> tuple[str, str, float]:
        """Run a program; return what it printed, what it said, and how long it took."""
        command = [sys.executable, "-I", "-S", str(self.folder.folder / file), client, *more]
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], **variables}
        began = time.monotonic()
        done = subprocess.run(command, input=raw, capture_output=True, env=environment, cwd=self.work, timeout=20)
        assert done.returncode == 0
        return done.stdout.decode(), done.stderr.decode(), time.monotonic() - began

    def tell(self, event: dict[str, Any], *more: str, client: str = "claude-code", **variables: str) -> dict[str, Any]:
        """Tell it of an event; return what the client would read."""
        printed, said, _ = self.start(json.dumps({"cwd": str(self.work), **event}).encode(), client, *more, **variables)
        assert said == "" or event["hook_event_name"] == "Ping"
        answer = json.loads(printed)
        assert isinstance(answer, dict)
        return answer

    def act(self, event: dict[str, Any]) -> dict[str, Any]:
        """Tell the program for acts of an event; return what the client would read."""
        answer = json.loads(self.start(json.dumps({"cwd": str(self.work), **event}).encode(), file=ACT_FILE)[0])
        assert isinstance(answer, dict)
        return answer

    def write(self, name: str, *lines: object) -> str:
        """Write a transcript where Claude Code keeps them; return its path."""
        path = self.home / ".claude/projects/work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        return str(path)


@pytest.fixture
def server() -> Iterator[HookServer]:
    with HookServer().listen() as server:
        yield server


@pytest.fixture
def hooks(tmp_path: Path, server: HookServer) -> Installed:
    return Installed(tmp_path, server)


def person(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


def agent(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": list(content)}}


def say(text: str) -> dict[str, Any]:
    return agent({"type": "text", "text": text})


def call(id: str, name: str, **given: str) -> dict[str, Any]:
    return agent({"type": "tool_use", "id": id, "name": name, "input": given})


def result(id: str, text: str) -> dict[str, Any]:
    part = {"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}]}
    return {"type": "user", "message": {"role": "user", "content": [part]}}


def brings(text: str, event: str = "SessionStart") -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def test_the_client_is_given_what_bigmind_answers(hooks: Installed, server: HookServer) -> None:
    server.reply = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "Ada – knows."}}

    answer = hooks.tell(START)

    (path, authorization, body) = server.heard[0]
    assert answer == server.reply
    assert (path, authorization) == ("/hooks/claude-code/", f"Bearer {KEY}")
    assert body["session_id"] == "s-1"
    assert body["bigmind"]["folder"] == str(hooks.work)
    assert body["bigmind"]["late"] is False


def test_nothing_is_sent_that_is_not_on_the_list(hooks: Installed, server: HookServer) -> None:
    hooks.tell({**SAID, "transcript_path": "/home/ada/x.jsonl", "env": {"A": "b"}, "tool_input": {"a": 1}, "new": "x"})

    assert set(server.events[0]) == {"cwd", "session_id", "hook_event_name", "source", "prompt", "bigmind"}


@pytest.mark.parametrize(
    ("told", "sent"),
    [
        ("before <private>my salary</private> after", "before after"),
        ("before <private>my salary", "before"),
        ("<PRIVATE >a</private>b<private>c <private>d</private> e</private>f", "bf"),
        ("no tag, a stray </private> end", "no tag, a stray </private> end"),
        ("<hook_context>Known: tabs.</hook_context>\n\nSay hi.", "Say hi."),
    ],
)
def test_what_is_private_stays_here(hooks: Installed, server: HookServer, told: str, sent: str) -> None:
    hooks.tell({**SAID, "prompt": told})

    assert server.events[0]["prompt"] == sent


def test_secrets_stay_here(hooks: Installed, server: HookServer) -> None:
    hooks.tell({**SAID, "prompt": f"The token is {SECRET}, and DB_PASSWORD=Kraken637$ic"})

    sent = server.events[0]["prompt"]
    assert SECRET not in sent
    assert "Kraken637" not in sent
    assert "[secret removed: GitHub token]" in sent


def test_the_copy_screens_as_bigmind_does(hooks: Installed) -> None:
    texts = [case.text for case in secrets_in_context(1)]
    code = (
        f"import json, sys; sys.path.insert(0, {str(hooks.folder.folder)!r}); import bigmind_screening\n"
        "print(json.dumps([bigmind_screening.redact(text) for text in json.load(sys.stdin)]))"
    )

    # Without the packages of this environment: it must need none of them.
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, input=json.dumps(texts).encode(), capture_output=True, check=True)

    assert json.loads(done.stdout) == [redact(text) for text in texts]


def test_without_the_screening_nothing_is_sent(hooks: Installed, server: HookServer) -> None:
    (hooks.folder.folder / "bigmind_screening/__init__.py").write_text("raise ImportError\n")

    assert hooks.tell(SAID) == {}

    assert server.heard == []


def test_long_texts_are_cut(hooks: Installed, server: HookServer) -> None:
    hooks.tell({**SAID, "prompt": "a word and " * 100_000})

    assert len(server.events[0]["prompt"]) == 4_000


def test_arguments_are_sent_whole_or_not_at_all_and_only_to_bigminds_own_tools() -> None:
    call = {"session_id": "s-1", "tool_name": "mcp_bigmind_memory_store_fact"}
    whole = {"fact": "Uses tabs, and <b>bold</b> words.", "everywhere": True, "topics": ["a"]}
    context = {"server_name": "bigmind", "url": "http://x"}

    assert choose({**call, "tool_input": whole, "mcp_context": context}, "BeforeTool") == {
        **call,
        "hook_event_name": "BeforeTool",
        "tool_input": whole,
        "mcp_context": {"server_name": "bigmind"},
    }
    for told, event in (
        ({**call, "tool_input": {"fact": "long " * 60_000}}, "BeforeTool"),
        ({**call, "tool_name": "run_shell_command", "tool_input": {"command": "ls"}}, "BeforeTool"),
        ({**call, "tool_name": "mcp__bigmind__x", "tool_input": whole}, "PreToolUse"),
    ):
        assert "tool_input" not in choose(told, event)


def test_an_event_that_was_switched_off_is_not_sent(hooks: Installed, server: HookServer) -> None:
    hooks.configure(events=["start", "end"])

    assert hooks.tell(PROMPT) == {}
    assert hooks.tell(START, BIGMIND_HOOKS="off") == {}

    assert server.heard == []


def test_nothing_is_sent_from_a_folder_that_is_named(hooks: Installed, server: HookServer, tmp_path: Path) -> None:
    (hooks.work / "inner").mkdir()
    (tmp_path / "link").symlink_to(hooks.work / "inner")
    hooks.configure(never=[str(hooks.work)])

    hooks.tell({**SAID, "cwd": str(tmp_path / "link")})

    assert server.heard == []


def test_from_a_folder_that_the_page_excludes_nothing_is_sent(hooks: Installed, server: HookServer) -> None:
    server.reply = {"systemMessage": "hello", "bigmind": {"never": [str(hooks.work)]}}
    answer = hooks.tell(START)
    hooks.tell(PROMPT)
    hooks.tell(STOP)
    server.reply = {"bigmind": {"never": []}}
    hooks.tell(START)
    hooks.tell(STOP)

    assert answer == {"systemMessage": "hello"}
    first, asked, stop = server.events
    assert first["bigmind"]["settings"] is True
    # The next start asks whether that still holds, and says neither where it is nor which conversation.
    assert asked == {"hook_event_name": "Ping", "bigmind": {"settings": True}}
    assert stop["hook_event_name"] == "Stop"


def test_what_waits_of_a_folder_that_was_excluded_since_is_dropped(hooks: Installed, server: HookServer) -> None:
    hooks.configure(url="http://127.0.0.1:9")
    hooks.tell(STOP)
    hooks.configure()
    server.reply = {"bigmind": {"never": [str(hooks.work)]}}
    (hooks.home / "elsewhere").mkdir()

    hooks.tell({**START, "cwd": str(hooks.home / "elsewhere")})

    assert [event["hook_event_name"] for event in server.events] == ["SessionStart"]
    assert hooks.folder.waiting("claude-code") == (0, 0)


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[1]", b"null", b'{"hook_event_name": 7}', b"\xff\xfe", b'{"a":' * 30_000, b'"' + b"a" * 5_000_000],
)
def test_what_is_no_event_is_answered_all_the_same(hooks: Installed, raw: bytes) -> None:
    assert hooks.start(raw)[0] == "{}"


@pytest.mark.parametrize("config", ["", "{", "[]", '{"url": 7}', '{"url": "gopher://x", "client": "claude-code"}'])
def test_a_malformed_configuration_breaks_nothing(hooks: Installed, config: str) -> None:
    (hooks.folder.folder / "claude-code.json").write_text(config)

    assert hooks.start(json.dumps(PROMPT).encode())[0] in {"{}", json.dumps(brings(AWAY, "UserPromptSubmit"))}


@pytest.mark.parametrize("reply", ["<html>", "[1]", "", "{" * 200_000, '{"a": "' + "b" * 200_000 + '"}'])
def test_what_is_no_answer_is_not_printed(hooks: Installed, server: HookServer, reply: str) -> None:
    server.reply = reply

    assert hooks.tell(START) in ({}, brings(AWAY))


def test_bigmind_away_costs_nothing_and_loses_nothing(hooks: Installed, server: HookServer, tmp_path: Path) -> None:
    away = HookServer()
    with away.listen():
        port = away.port
    hooks.configure(url=f"http://127.0.0.1:{port}")
    printed, _, seconds = hooks.start(json.dumps({**START, "cwd": str(hooks.work)}).encode())
    hooks.tell(STOP)
    hooks.tell(PROMPT)
    count, size = hooks.folder.waiting("claude-code")
    failure = hooks.folder.last_failure("claude-code")

    with away.listen(port):
        hooks.tell({**START, "source": "resume"})

    assert (json.loads(printed), count) == (brings(AWAY), 2)
    assert seconds < 1.5
    assert 0 < size < 4_000
    assert failure is not None
    assert failure.event == "UserPromptSubmit"
    assert [(event["hook_event_name"], event["bigmind"]["late"]) for event in away.events] == [
        ("SessionStart", False),
        ("SessionStart", True),
        ("Stop", True),
    ]
    assert hooks.folder.waiting("claude-code") == (0, 0)


def test_what_waits_is_readable_to_its_owner_alone(hooks: Installed) -> None:
    hooks.configure(url="http://127.0.0.1:1")

    hooks.tell(START)

    (waiting,) = (hooks.folder.folder / "spool/claude-code").iterdir()
    assert stat.S_IMODE(waiting.stat().st_mode) == 0o600
    assert stat.S_IMODE(waiting.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((hooks.folder.folder / "claude-code.json").stat().st_mode) == 0o600


def test_of_what_was_done_nothing_is_noted_where_nothing_fired(hooks: Installed, server: HookServer) -> None:
    hooks.keep_records()
    tool = {"session_id": "s-1", "tool_name": "Bash", "tool_input": {"command": f"curl -H 'X-Token: {SECRET}' x.io"}}

    assert hooks.tell({**tool, "hook_event_name": "PreToolUse"}, file=ACT_FILE) == {}

    assert not (hooks.folder.folder / "acts").exists()


def test_commands_that_an_older_version_noted_stay_on_the_machine(hooks: Installed, server: HookServer) -> None:
    folder = hooks.folder.folder / "acts"
    folder.mkdir()
    fired = {"id": "1", "at": "2026-11-01T10:00:00Z", "s": "s-1", "d": "/home/ada", "f": [{"k": "company", "i": "1"}]}
    lines = [{**fired, "c": SECRET, "x": SECRET}, {**fired, "id": "2", "c": SECRET, "f": []}]
    (folder / "claude-code.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    hooks.tell(START)

    assert server.exchanges[0]["bigmind"]["acts"] == [fired]
    assert SECRET not in json.dumps([server.heard, server.exchanges])


def test_the_spool_is_bounded_and_keeps_the_newest(hooks: Installed) -> None:
    hooks.configure(url="http://127.0.0.1:1")
    folder = hooks.folder.folder / "spool/claude-code"
    folder.mkdir(parents=True)
    for number in range(230):
        (folder / f"{number:020d}-x.json").write_text("{}")

    hooks.tell(START)

    assert hooks.folder.waiting("claude-code")[0] == 200
    assert not (folder / f"{30:020d}-x.json").exists()
    assert (folder / f"{229:020d}-x.json").exists()


@pytest.mark.parametrize(("status", "kept"), [(401, 1), (404, 1), (503, 1), (400, 0), (413, 0), (422, 0)])
def test_what_is_refused_for_good_is_not_kept(hooks: Installed, server: HookServer, status: int, kept: int) -> None:
    reply = {"detail": "Too\n many.", "hookSpecificOutput": {"additionalContext": "no"}}
    server.status, server.reply = status, reply

    assert hooks.tell(START) == brings(REFUSED.format(detail="Too many."))

    assert hooks.folder.waiting("claude-code")[0] == kept


def test_the_model_reads_once_that_bigmind_is_away_and_once_that_it_is_back(hooks, server):
    server.status = 503
    server.reply = {"detail": "The database does not answer."}
    first, again = hooks.tell(PROMPT), hooks.tell(PROMPT)
    server.status, server.reply = 200, brings("Deploys run on Tuesdays.", "UserPromptSubmit")

    back, after = hooks.tell(PROMPT), hooks.tell(PROMPT)

    assert first == brings(REFUSED.format(detail="The database does not answer."), "UserPromptSubmit")
    assert again == {}
    line, brought = back["hookSpecificOutput"]["additionalContext"].split("\n")
    assert line.startswith(BACK.partition("{")[0])
    assert brought == "Deploys run on Tuesdays."
    assert after == server.reply


def test_bigmind_learns_once_what_it_missed(hooks: Installed, server: HookServer) -> None:
    server.status = 503
    hooks.tell(PROMPT)
    hooks.tell(STOP)
    server.status = 200

    hooks.tell(PROMPT)
    hooks.tell(START)

    missed = [event["bigmind"].get("missed") for event in server.events if not event["bigmind"]["late"]]
    assert [(one["late"], one["away"]) if one else None for one in missed] == [None, (0, 1), (0, 2), None]
    failure = hooks.folder.last_failure("claude-code")
    assert failure is not None
    assert (failure.away, failure.sent) == (2, [0, 2])


FAILED_CALL = {
    "session_id": "s-1",
    "hook_event_name": "PostToolUseFailure",
    "tool_name": "mcp__bigmind__memory_store_fact",
    "error": "fetch failed",
}


def test_a_write_that_found_bigmind_away_is_kept_without_secrets_and_sent_once(hooks, server):
    away = HookServer()
    with away.listen():
        port = away.port
    hooks.configure(url=f"http://127.0.0.1:{port}")
    call = {"category": "decision", "fact": f"The token is {SECRET}. <private>Mine.</private>", "supersedes": [1]}

    told = hooks.act({**FAILED_CALL, "tool_input": call})
    read = hooks.act({**FAILED_CALL, "tool_name": "mcp__bigmind__memory_recall", "tool_input": {"query": "x"}})
    other = hooks.act({**FAILED_CALL, "tool_name": "mcp__mail__memory_store_fact", "tool_input": call})
    with away.listen(port):
        refused = hooks.act({**FAILED_CALL, "tool_input": call})
        hooks.tell(START)
        hooks.tell(STOP)

    assert "do not send it again" in told["hookSpecificOutput"]["additionalContext"]
    assert read == other == refused == {}
    (kept,) = [event for event in away.events if event["hook_event_name"] == "KeptCall"]
    assert (kept["tool_name"], kept["session_id"]) == ("memory_store_fact", "s-1")
    assert kept["tool_input"]["supersedes"] == [1]
    assert SECRET not in json.dumps(kept)
    assert "Mine" not in json.dumps(kept)
    assert kept["bigmind"]["event_id"]


def test_where_the_client_sends_prompts_itself_the_program_for_acts_says_that_bigmind_is_away(hooks, server):
    away = HookServer()
    with away.listen():
        port = away.port
    hooks.configure(url=f"http://localhost:{port}")
    hooks.keep_records()

    first, again = hooks.act(PROMPT), hooks.act(PROMPT)
    started, told = hooks.tell({**START, "session_id": "s-2"}), hooks.act({**PROMPT, "session_id": "s-2"})
    with away.listen(port):
        back, after = hooks.act(PROMPT), hooks.act(PROMPT)

    assert first == brings(AWAY, "UserPromptSubmit")
    assert again == after == {}
    assert (started, told) == (brings(AWAY), {})
    assert back["hookSpecificOutput"]["additionalContext"].startswith("BigMind is back. It was away from ")


@pytest.mark.parametrize(
    ("client", "key"), [("copilot", "additionalContext"), ("cursor", "additional_context"), ("codex", "")]
)
def test_each_client_reads_in_its_own_way_that_bigmind_is_away(hooks, server, client, key):
    server.status = 503
    hooks.configure(client=client)

    answer = hooks.tell({**START, "hook_event_name": "SessionStart"}, client=client)

    assert (answer[key] if key else answer["hookSpecificOutput"]["additionalContext"]).startswith("BigMind took")


@pytest.mark.parametrize(("event", "most"), [(PROMPT, 0.3), (STOP, 1.0), (START, 2.0)])
def test_a_slow_bigmind_holds_nobody_up(hooks, server, event, most):
    server.seconds = 10

    printed, _, seconds = hooks.start(json.dumps({"cwd": str(hooks.work), **event}).encode())

    lines = {"UserPromptSubmit": brings(LATE, "UserPromptSubmit"), "SessionStart": brings(AWAY)}
    assert json.loads(printed) == lines.get(event["hook_event_name"], {})
    # Starting Python on a busy machine is not what is measured here.
    assert seconds < most + 0.6
    assert hooks.folder.waiting("claude-code")[0] == (event is not PROMPT)


def test_a_client_that_never_closes_its_pipe_is_answered(hooks: Installed) -> None:
    command = [sys.executable, "-I", "-S", str(hooks.folder.folder / PROGRAM_FILE), "claude-code"]
    began = time.monotonic()

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}) as process:
        assert process.stdout is not None
        printed = process.stdout.read()

    assert (printed, process.returncode) == (b"{}", 0)
    assert time.monotonic() - began < 3


def test_a_home_that_may_not_be_written_breaks_nothing(hooks: Installed) -> None:
    hooks.configure(url="http://127.0.0.1:1")
    # A file where the folder belongs refuses even root, as a full disk does.
    (hooks.folder.folder / "spool").write_text("")

    assert hooks.tell(STOP) == {}


def test_a_full_disk_breaks_nothing(hooks: Installed) -> None:
    hooks.configure(url="http://127.0.0.1:1")
    full = (
        "import resource, os, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    program = [sys.executable, "-I", "-S", str(hooks.folder.folder / PROGRAM_FILE), "claude-code"]

    done = subprocess.run([sys.executable, "-c", full, *program], input=json.dumps(STOP).encode(), capture_output=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")
    assert hooks.folder.waiting("claude-code") == (0, 0)
    assert list((hooks.folder.folder / "spool/claude-code").iterdir()) == []


def test_it_starts_within_50_ms(hooks: Installed) -> None:
    """50 ms on a usual machine, where Python alone takes eleven."""
    python = [sys.executable, "-I", "-S"]

    bare, whole = (
        _mean_start([*python, "-c", ""]),
        _mean_start([*python, str(hooks.folder.folder / PROGRAM_FILE), "nobody"]),
    )

    assert whole < max(0.05, 6 * bare)


def _mean_start(command: list[str]) -> float:
    """Return the processor time, because other processes of this machine are not what is measured.

    Its clock ticks every 10 ms, so one run says little.
    """
    before = os.times()
    for _ in range(10):
        subprocess.run(command, input=b"{}", check=True, capture_output=True)
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system) / 10


def test_it_says_more_when_doctor_asks(hooks: Installed, server: HookServer) -> None:
    server.status = 401

    _, said, _ = hooks.start(json.dumps({"hook_event_name": "Ping", "cwd": "/"}).encode())

    told = json.loads(said)
    assert (told["status"], told["error"]) == (401, "BigMind answers 401")
    assert told["milliseconds"] < 2000
    assert hooks.folder.waiting("claude-code") == (0, 0)
    assert hooks.folder.last_failure("claude-code") is None


def test_the_key_may_come_from_the_variable(hooks: Installed, server: HookServer) -> None:
    hooks.configure(key="")

    hooks.tell(START, BIGMIND_API_KEY="bm_of_the_variable")

    assert server.heard[0][1] == "Bearer bm_of_the_variable"


def test_a_client_that_names_no_event_has_it_on_the_command_line(hooks: Installed, server: HookServer) -> None:
    hooks.configure(client="cursor")

    printed, _, _ = hooks.start(b'{"conversation_id": "c-1"}', "cursor", "sessionStart")

    assert printed == "{}"
    assert server.events[0]["hook_event_name"] == "sessionStart"


# ── The repository ────────────────────────────────────────────────────────────────────────────────────────────────────


def git(*arguments: str, folder: Path) -> None:
    who = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b"}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env=environment)


@pytest.fixture
def engine(hooks: Installed) -> Path:
    folder = hooks.work / "engine"
    folder.mkdir()
    git("init", "-q", "-b", "main", folder=folder)
    git("commit", "-q", "--allow-empty", "-m", "First", folder=folder)
    return folder


def told_of(hooks: Installed, server: HookServer, folder: Path, **variables: str) -> tuple[str, str]:
    hooks.tell({**START, "cwd": str(folder)}, **variables)
    told = server.events[-1]["bigmind"]
    return told["repository"], told["branch"]


def test_the_project_is_the_repository_and_not_the_folder(hooks: Installed, server: HookServer, engine: Path) -> None:
    (engine / "src/deep").mkdir(parents=True)
    git("worktree", "add", "-q", "-b", "topic/one", "../elsewhere", folder=engine)

    assert told_of(hooks, server, engine / "src/deep") == ("engine", "main")
    assert told_of(hooks, server, hooks.work / "elsewhere") == ("engine", "topic/one")
    assert told_of(hooks, server, hooks.work) == ("", "")


def test_clones_share_the_name_of_their_origin(hooks: Installed, server: HookServer, engine: Path) -> None:
    git("remote", "add", "origin", "git@example.com:team/Analytical-Engine.git", folder=engine)

    assert told_of(hooks, server, engine) == ("Analytical-Engine", "main")


def test_a_declared_name_comes_first(hooks: Installed, server: HookServer, engine: Path) -> None:
    (engine / ".bigmind").write_text("project: difference\n")

    assert told_of(hooks, server, engine) == ("difference", "main")
    assert told_of(hooks, server, engine, BIGMIND_PROJECT="other") == ("other", "main")


# ── The transcript ────────────────────────────────────────────────────────────────────────────────────────────────────

CONVERSATION = (
    person("<command-name>/clear</command-name>"),
    person("Fix the redirect after sign-in, it loses ?next=.\nThanks!"),
    say("I look."),
    call("t1", "Edit", file_path="WORK/app/views.py"),
    result("t1", "ok"),
    call("t2", "Bash", command="git commit -am 'Keep next'"),
    result("t2", "[main 1a2b3c4] sign-in: Keep where people wanted to go.\n 1 file changed"),
    say("<private>your salary</private>It is fixed."),
)


def conversation(hooks: Installed) -> list[object]:
    return json.loads(json.dumps(CONVERSATION).replace("WORK", str(hooks.work)))


def test_a_compaction_brings_what_was_said_since_the_last_one(hooks: Installed, server: HookServer) -> None:
    path = hooks.write("s-1.jsonl", *conversation(hooks))
    hooks.tell({**COMPACT, "transcript_path": path})
    hooks.write("s-1.jsonl", person("And the tests?"), say("They pass."))
    hooks.tell({**COMPACT, "transcript_path": path})

    first, second = (event["bigmind"]["closing"] for event in server.events)
    assert [message["text"] for message in first["messages"]] == [
        "Fix the redirect after sign-in, it loses ?next=.\nThanks!",
        "I look.",
        "It is fixed.",
    ]
    assert first["files"] == ["app/views.py"]
    assert first["commits"] == ["1a2b3c4 sign-in: Keep where people wanted to go."]
    assert second["messages"] == [
        {"role": "user", "text": "And the tests?"},
        {"role": "assistant", "text": "They pass."},
    ]
    assert second["files"] == []


def test_a_fork_of_claude_code_names_the_conversation_that_was_answered_then(hooks, server):
    def answered(seconds: int) -> dict[str, object]:
        return {
            **say("Done."),
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.123Z", time.gmtime(time.time() - seconds)),
        }

    hooks.write("parent.jsonl", *conversation(hooks), answered(40), person("And now?"))
    hooks.write("other.jsonl", *conversation(hooks), answered(300))
    path = str(hooks.home / ".claude/projects/work/fork.jsonl")
    fork = {**START, "source": "fork", "transcript_path": path}
    hooks.tell({**fork, "seconds_since_last_response": 40})
    hooks.tell({**fork, "seconds_since_last_response": 100})
    hooks.write("twin.jsonl", answered(40))
    hooks.tell({**fork, "seconds_since_last_response": 40})
    hooks.tell({**fork, "source": "startup", "seconds_since_last_response": 300})

    assert [event["bigmind"]["continues"] for event in server.events] == ["parent", "", "", ""]


def test_a_fork_of_codex_names_the_conversation_in_its_record(hooks: Installed, server: HookServer) -> None:
    path = hooks.home / ".codex/sessions/rollout-s-2.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"type": "session_meta", "payload": {"id": "s-2", "forked_from_id": "s-1"}}) + "\n")
    hooks.configure(client="codex")

    hooks.tell({**START, "source": "fork", "transcript_path": str(path)}, client="codex")

    assert server.events[0]["bigmind"]["continues"] == "s-1"


def test_a_stop_brings_its_last_message_alone(hooks: Installed, server: HookServer) -> None:
    path = hooks.write("s-1.jsonl", *conversation(hooks))

    hooks.tell({**STOP, "transcript_path": path})
    hooks.tell({"session_id": "s-1", "hook_event_name": "SessionEnd", "transcript_path": path})

    first, last = (event["bigmind"]["closing"] for event in server.events)
    assert server.events[0]["last_assistant_message"] == "Done."
    assert set(first) == {"files", "commits"}
    assert len(last["messages"]) == 3


def test_the_end_has_all_that_was_changed(hooks: Installed, server: HookServer) -> None:
    path = hooks.write("s-1.jsonl", *conversation(hooks))
    hooks.tell({**COMPACT, "transcript_path": path})

    hooks.tell({"session_id": "s-1", "hook_event_name": "SessionEnd", "reason": "other", "transcript_path": path})

    closing = server.events[-1]["bigmind"]["closing"]
    assert "headline" not in closing
    assert closing["commits"] == ["1a2b3c4 sign-in: Keep where people wanted to go."]
    assert closing["files"] == ["app/views.py"]
    assert closing["messages"] == []


def test_what_was_not_delivered_is_not_captured_twice(hooks: Installed, server: HookServer) -> None:
    path = hooks.write("s-1.jsonl", *conversation(hooks))
    server.status = 503
    hooks.tell({**STOP, "transcript_path": path})
    server.status = 200

    hooks.tell({**COMPACT, "transcript_path": path})

    sizes = [len(event["bigmind"]["closing"].get("messages", "")) for event in server.events]
    assert sizes == [0, 0, 3]
    assert server.events[2]["bigmind"]["late"] is True


def test_no_file_outside_the_clients_own_folder_is_read(hooks: Installed, server: HookServer, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text(json.dumps(person("A secret plan of someone else.")) + "\n")
    inside = hooks.home / ".claude/projects/link.jsonl"
    inside.parent.mkdir(parents=True)
    inside.symlink_to(outside)

    hooks.tell({**STOP, "transcript_path": str(outside)})
    hooks.tell({**STOP, "transcript_path": str(inside)})

    assert [event["bigmind"].get("closing") for event in server.events] == [None, None]


def test_a_large_transcript_is_read_from_its_end(hooks: Installed, server: HookServer) -> None:
    path = hooks.write("s-1.jsonl", *(say(f"{number} " + "word " * 400) for number in range(4_000)))

    began = time.monotonic()
    hooks.tell({**COMPACT, "transcript_path": path})

    messages = server.events[0]["bigmind"]["closing"]["messages"]
    assert 20 < len(messages) <= 40
    assert messages[-1]["text"].startswith("3999 ")
    assert sum(len(message["text"]) for message in messages) <= 64_000
    assert time.monotonic() - began < 1.4


def _codex_run(id: str, command: list[str], printed: str) -> list[dict[str, Any]]:
    call = {"type": "function_call", "name": "shell", "call_id": id, "arguments": json.dumps({"command": command})}
    ended = {"type": "function_call_output", "call_id": id, "output": json.dumps({"output": printed})}
    return [{"type": "response_item", "payload": payload} for payload in (call, ended)]


CODEX = (
    {"type": "session_meta", "payload": {"id": "s-1"}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "<environment>"}]}},
    {
        "type": "event_msg",
        "payload": {
            "type": "item_completed",
            "item": {"type": "UserMessage", "content": [{"type": "text", "text": "Rename the module, please."}]},
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "custom_tool_call",
            "name": "apply_patch",
            "call_id": "c0",
            "input": "*** Begin Patch\n*** Update File: a/b.py\n@@\n*** End Patch",
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "function_call",
            "name": "shell",
            "call_id": "c1",
            "arguments": json.dumps({"command": ["git", "commit", "-m", "x"]}),
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "function_call_output",
            "call_id": "c1",
            "output": "[main (root-commit) abcdef1] Rename it.",
        },
    },
    *_codex_run("c4", ["git", "commit", "-m", "pytest"], "Exit code: 1\nOutput:\nnothing to commit"),
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Renamed."}]},
    },
)
COMMITTED = (
    "<untrusted_context>\nOutput: [main (root-commit) abcdef1] Rename it.\n 1 file changed\n</untrusted_context>"
)
GEMINI = (
    {"sessionId": "s-1", "projectHash": "x", "kind": "main"},
    {"$set": {"messages": [{"type": "user", "content": [{"text": "context"}]}]}},
    {"id": "1", "type": "user", "content": [{"text": "Rename the module, please."}]},
    {"id": "2", "type": "gemini", "content": ""},
    {
        "id": "2",
        "type": "gemini",
        "content": "Renamed.",
        "toolCalls": [
            {"id": "c0", "name": "replace", "args": {"file_path": "a/b.py"}, "result": []},
            {
                "id": "c1",
                "name": "run_shell_command",
                "args": {"command": "git commit -m x"},
                "result": [{"functionResponse": {"response": {"output": COMMITTED}}}],
            },
        ],
    },
    {"id": "3", "type": "user", "content": [{"functionResponse": {"response": {"output": "x"}}}]},
)


@pytest.mark.parametrize(
    ("client", "place", "lines"),
    [("codex", ".codex/sessions/2026/r.jsonl", CODEX), ("gemini-cli", ".gemini/tmp/x/chats/s.jsonl", GEMINI)],
)
def test_each_clients_own_record_is_understood(hooks, server, client, place, lines):
    path = hooks.home / place
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    hooks.configure(client=client)

    hooks.tell({"session_id": "s-1", "hook_event_name": "SessionEnd", "transcript_path": str(path)}, client=client)

    assert server.events[0]["bigmind"]["closing"] == {
        "messages": [{"role": "user", "text": "Rename the module, please."}, {"role": "assistant", "text": "Renamed."}],
        "files": ["a/b.py"],
        "commits": ["abcdef1 Rename it."],
    }

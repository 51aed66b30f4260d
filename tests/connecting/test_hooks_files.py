"""Hooks in each client's own file: what stands there stays, and undoing restores every byte."""

import ast
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from accounts.connecting import hook_program
from accounts.connecting.changes import carry_out, plan_connection, plan_disconnection
from accounts.connecting.edited_files import entries_in_file, has_hooks, parts_of, with_hooks
from accounts.connecting.hook_files import HookConfig, HookFolder
from accounts.connecting.hooks import (
    CLIENTS_WITH_HOOKS,
    KINDS,
    ClientHooks,
    HookConnection,
    HookKind,
    HookProgram,
    hooks_of,
    is_ours,
    parse_kinds,
)
from accounts.connecting.json_tree import read_tree
from accounts.connecting.machines import System
from tests.connecting.homes import DOOR, KEY, Home, program

LINUX = HookProgram("/usr/bin/python3", "/home/ada/.bigmind/hooks/bigmind_hook.py", "linux")
COMMAND = "/usr/bin/python3 -I -S /home/ada/.bigmind/hooks/bigmind_hook.py"
BEFORE_ACTS = "/usr/bin/python3 -I -S /home/ada/.bigmind/hooks/bigmind_act.py"
HOOKS = HookConnection(LINUX, KINDS, "http://localhost:7700", KEY)
THEIRS: dict[str, Any] = {"hooks": [{"type": "command", "command": "say done", "timeout": 3}]}
OTHERS = {
    "empty": "",
    "nothing but braces": "{}",
    "others in lists": json.dumps(
        {"hooks": {"Stop": [THEIRS], "SessionStart": [], "AfterAgent": [THEIRS]}, "a": 1}, indent=4
    ),
    "an empty object": '{\n\t"hooks": {}\n}\n',
    "comments and commas": (
        '{\n  // Ada\'s own\n  "theme": "dark",\n  "hooks": {\n    /* keep */\n    "SessionEnd": [\n'
        '      { "hooks": [ { "type": "command", "command": "bye" } ] }, // last\n    ],\n  },\n}\n'
    ),
    "one line": '{"hooks":{"stop":[{"command":"x"}],"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    "windows": '{\r\n    "hooks" : {\r\n        "SessionStart" : [ ]\r\n    }\r\n}\r\n',
}
ON_EVERY_SYSTEM = {"_thread", "json", "os", "re", "socket", "ssl", "sys", "time", "contextlib"}
SLUGS = [client.slug for client in CLIENTS_WITH_HOOKS if not client.is_script]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def client_called(slug: str) -> ClientHooks:
    client = hooks_of(slug)
    assert client is not None
    return client


def connect(home: Home, slug: str, hooks: HookConnection = HOOKS, project: Path | None = None) -> list[str]:
    """Connect a client with its hooks; return the states of its files."""
    parts = with_hooks(
        parts_of(program(slug), DOOR, home.machine, project), client_called(slug), hooks, home.machine, project
    )
    changes = plan_connection(slug, parts, home.records)
    carry_out(changes, home.records)
    return [change.state for change in changes]


def disconnect(home: Home, slug: str, project: Path | None = None) -> None:
    none = HookConnection(LINUX, ())
    parts = with_hooks(
        parts_of(program(slug), DOOR, home.machine, project), client_called(slug), none, home.machine, project
    )
    carry_out(plan_disconnection(slug, parts, home.records), home.records)


def place(home: Home, slug: str) -> str:
    return str(client_called(slug).place(home.machine).relative_to(home.folder))


def read(home: Home, slug: str) -> dict[str, Any]:
    value = read_tree(home.read(place(home, slug))).value
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("before", OTHERS)
def test_disconnecting_restores_every_byte(home: Home, slug: str, before: str) -> None:
    if OTHERS[before]:
        home.write(place(home, slug), OTHERS[before])
    files, folders = home.files(), home.folders()

    connect(home, slug)
    assert has_hooks(client_called(slug), home.machine)
    disconnect(home, slug)

    assert home.files() == files
    assert home.folders() == folders


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("before", [name for name in OTHERS if name != "empty"])
def test_what_others_put_there_stays_in_its_place(home: Home, slug: str, before: str) -> None:
    home.write(place(home, slug), OTHERS[before])
    theirs = read(home, slug)

    connect(home, slug)

    now = read(home, slug)
    assert {name: value for name, value in now.items() if name in theirs and name != "hooks"} == {
        name: value for name, value in theirs.items() if name != "hooks"
    }
    for event, entries in theirs.get("hooks", {}).items():
        # In the same positions: Codex knows by its position what a person has trusted.
        assert now["hooks"][event][: len(entries)] == entries


@pytest.mark.parametrize("slug", SLUGS)
def test_a_second_time_changes_nothing(home: Home, slug: str) -> None:
    home.write(place(home, slug), OTHERS["comments and commas"])
    connect(home, slug)
    files = home.files()

    states = connect(home, slug)

    assert set(states) == {"unchanged"}
    assert home.files() == files


@pytest.mark.parametrize("slug", SLUGS)
def test_a_file_that_was_changed_since_loses_our_part_alone(home: Home, slug: str) -> None:
    home.write(place(home, slug), OTHERS["others in lists"])
    connect(home, slug)
    changed = home.read(place(home, slug)).replace('"a": 1', '"a": 2')
    home.write(place(home, slug), changed)

    disconnect(home, slug)

    assert home.read(place(home, slug)) == OTHERS["others in lists"].replace('"a": 1', '"a": 2')


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("before", OTHERS)
def test_without_a_backup_our_part_is_cut_out_alone(home: Home, slug: str, before: str) -> None:
    (part,) = with_hooks([], client_called(slug), HOOKS, home.machine)

    after = part.remove(part.write(OTHERS[before]), OTHERS[before])

    assert read_tree(after or "{}").value == read_tree(OTHERS[before] or "{}").value
    assert after.count("//") == OTHERS[before].count("//")


@pytest.mark.parametrize("slug", SLUGS)
def test_an_event_can_be_left_out_and_taken_out(home: Home, slug: str) -> None:
    kinds: tuple[HookKind, ...] = ("start", "end")
    connect(home, slug)

    connect(home, slug, HookConnection(LINUX, kinds))

    names = {event.name for event in client_called(slug).events if event.kind in kinds}
    assert set(read(home, slug)["hooks"]) == names


def test_claude_code_sends_by_itself_what_needs_no_program(home: Home) -> None:
    connect(home, "claude-code")

    found = read(home, "claude-code")["hooks"]
    direct = {
        "type": "http",
        "url": "http://localhost:7700/hooks/claude-code/",
        "headers": {"Authorization": f"Bearer {KEY}"},
        "timeout": 0.3,
    }
    run = {"type": "command", "command": f"{COMMAND} claude-code; exit 0", "timeout": 5}
    act = {**run, "command": f"{BEFORE_ACTS} claude-code; exit 0"}
    assert found["UserPromptSubmit"] == [{"hooks": [direct]}, {"hooks": [act]}]
    assert found["PreToolUse"] == [{"matcher": "mcp__.*bigmind.*", "hooks": [direct]}, {"hooks": [act]}]
    assert found["PostToolUse"] == found["PostToolUseFailure"] == [{"hooks": [act]}]
    assert [found[name] for name in ("SessionStart", "Stop", "PreCompact", "SessionEnd")] == [[{"hooks": [run]}]] * 4
    assert home.files()[".claude/settings.json"][1] == 0o600


@pytest.mark.parametrize(
    "hooks", [HookConnection(LINUX, KINDS, "https://mind.example.com", KEY), HookConnection(LINUX, KINDS)]
)
def test_elsewhere_the_program_screens_before_anything_is_sent(home: Home, hooks: HookConnection) -> None:
    connect(home, "claude-code", hooks)

    found = read(home, "claude-code")["hooks"]
    assert KEY not in json.dumps(found)
    assert {hook["type"] for groups in found.values() for group in groups for hook in group["hooks"]} == {"command"}


def test_codex_knows_commands_alone_and_seconds(home: Home) -> None:
    connect(home, "codex")

    found = read(home, "codex")["hooks"]
    hook = {"hooks": [{"type": "command", "command": f"{COMMAND} codex; exit 0", "timeout": 5}]}
    act = {"hooks": [{"type": "command", "command": f"{BEFORE_ACTS} codex; exit 0", "timeout": 5}]}
    assert found == {
        **{name: [hook] for name in ("SessionStart", "Stop", "PreCompact", "SessionEnd")},
        "UserPromptSubmit": [hook, act],
        "PreToolUse": [act],
        "PostToolUse": [act],
    }


def test_gemini_cli_counts_in_milliseconds_and_is_not_asked_before_each_request(home: Home) -> None:
    connect(home, "gemini-cli")

    document = read(home, "gemini-cli")
    found = document["hooks"]
    assert set(found) == {"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"}
    assert found["BeforeTool"][0]["matcher"] == "mcp_bigmind_.*"
    assert {groups[0]["hooks"][0]["timeout"] for groups in found.values()} == {5000}
    assert "bigmind" in document["mcpServers"]


def test_a_new_file_of_cursor_says_its_version(home: Home) -> None:
    connect(home, "cursor")

    found = read(home, "cursor")
    assert found["version"] == 1
    assert found["hooks"]["stop"] == [{"command": f"{COMMAND} cursor stop; exit 0"}]


def test_copilot_cli_has_a_file_of_its_own_and_a_command_for_each_shell(home: Home) -> None:
    connect(home, "copilot")

    found = read(home, "copilot")
    assert found["version"] == 1
    assert set(found["hooks"]) == {"sessionStart", "userPromptSubmitted", "sessionEnd"}
    command = f"{COMMAND} copilot sessionEnd; exit 0"
    assert found["hooks"]["sessionEnd"] == [
        {"type": "command", "bash": command, "powershell": command, "timeoutSec": 5}
    ]


def test_qwen_code_is_given_no_time_out_for_its_unit_differs(home: Home) -> None:
    connect(home, "qwen-code")

    hook = {"type": "command", "command": f"{COMMAND} qwen-code; exit 0"}
    assert all(groups == [{"hooks": [hook]}] for groups in read(home, "qwen-code")["hooks"].values())


@pytest.mark.parametrize("slug", SLUGS)
def test_a_project_has_hooks_without_a_key(home: Home, slug: str, tmp_path: Path) -> None:
    project = tmp_path / "engine"
    (project / ".git").mkdir(parents=True)
    before = sorted(project.rglob("*"))

    connect(home, slug, HookConnection(LINUX), project)
    file = project / client_called(slug).project_place
    text = file.read_text()
    disconnect(home, slug, project)

    assert "bigmind_hook.py" in text
    assert "bm_" not in text
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"hooks": []}', "object in braces"),
        ('{"hooks": {"SessionStart": {}}}', "list in brackets"),
        ('{"hooks": {', "expected"),
        ("[]", "object in braces"),
    ],
)
def test_a_malformed_file_is_left_alone(home: Home, text: str, words: str) -> None:
    home.write(".codex/hooks.json", text)

    with pytest.raises(Exception, match=words):
        connect(home, "codex")

    assert home.read(".codex/hooks.json") == text


@pytest.mark.parametrize(
    "entry",
    [
        THEIRS,
        {"hooks": []},
        {"hooks": [THEIRS["hooks"][0], {"type": "command", "command": f"{COMMAND} codex; exit 0"}]},
        {"type": "http", "url": "http://localhost:7700/hooks/other/"},
        "bigmind_hook.py",
        None,
    ],
)
def test_what_is_not_ours_alone_is_not_ours(entry: object) -> None:
    assert not is_ours(entry)


@pytest.mark.parametrize("system", ["linux", "macos"])
def test_a_command_is_one_that_the_shell_reads_back(system: System) -> None:
    ran = HookProgram("/opt/my python/bin/python3", "/home/a'da $HOME/bigmind_hook.py", system).command("codex")

    assert shlex.split(ran.removesuffix("; exit 0")) == [
        "/opt/my python/bin/python3", "-I", "-S", "/home/a'da $HOME/bigmind_hook.py", "codex",
    ]  # fmt: skip


def test_on_windows_each_client_has_a_command_for_its_shell() -> None:
    windows = HookProgram("C:\\Python\\python.exe", "C:\\Users\\Ada L\\hooks\\bigmind_hook.py", "windows")
    quoted = '"C:\\Python\\python.exe" -I -S "C:\\Users\\Ada L\\hooks\\bigmind_hook.py"'

    assert windows.command("claude-code") == f"{quoted} claude-code; exit 0".replace("\\", "/")
    assert windows.command("gemini-cli", syntax="powershell") == f"& {quoted} gemini-cli; exit 0"
    assert windows.command("codex", syntax="cmd") == f"{quoted} codex & exit 0"


def test_the_program_imports_nothing_that_windows_does_not_have() -> None:
    tree = ast.parse(Path(hook_program.__file__).read_text())
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    of_os = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "os"
    }

    assert imported <= {*ON_EVERY_SYSTEM, "__future__", "collections.abc", "typing", "bigmind.privacy.screening"}
    assert not of_os & {"fork", "getuid", "geteuid", "kill", "mkfifo", "chown", "setsid", "sync"}


@pytest.mark.parametrize("before", ["", "export const Theirs = async () => ({})\n"])
def test_opencode_has_a_plugin_that_comes_and_goes_whole(home: Home, before: str) -> None:
    script = place(home, "opencode")
    if before:
        home.write(script, before)
    files, folders = home.files(), home.folders()

    assert connect(home, "opencode") == ["created", "created", "changed" if before else "created"]
    written = home.read(script)
    assert connect(home, "opencode", HookConnection(LINUX, ("start",))) == ["unchanged", "unchanged", "changed"]
    client = client_called("opencode")
    (entry,) = entries_in_file(client, home.machine)
    disconnect(home, "opencode")

    assert f'= ["{LINUX.python}", "-I", "-S", "{LINUX.file}", "opencode"]' in written
    assert '"end"' in written
    assert is_ours(entry)
    assert (home.files(), home.folders()) == (files, folders)


def test_a_path_of_windows_stands_in_a_plugin_as_a_text_of_javascript(home: Home) -> None:
    windows = HookProgram(
        r"C:\Program Files\Python\python.exe", r"C:\Users\Ada L\.bigmind\hooks\bigmind_hook.py", "windows"
    )

    connect(home, "opencode", HookConnection(windows))

    line = next(line for line in home.read(place(home, "opencode")).splitlines() if "ARGUMENTS] =" in line)
    assert json.loads(line.partition("= ")[2]) == [windows.python, "-I", "-S", windows.file, "opencode"]


def test_events_are_named_in_any_order() -> None:
    assert parse_kinds("end, start") == ("start", "end")
    with pytest.raises(ValueError, match=r"no event stopp\. Known: start"):
        parse_kinds("stopp")


def test_the_python_of_a_command_stays_while_it_is_there(home: Home, tmp_path: Path) -> None:
    folder, python = HookFolder(tmp_path / "hooks"), tmp_path / "python3.99"
    python.write_text("")
    folder.write(HookConfig("codex", "http://localhost:7700", places=["user"], python=str(python)))

    assert folder.program("codex", home.machine).python == str(python)
    python.unlink()
    assert Path(folder.program("codex", home.machine).python).is_file()


def test_an_upgrade_removes_the_modules_of_a_former_version_and_nothing_else(tmp_path: Path) -> None:
    folder, elsewhere = HookFolder(tmp_path / "hooks"), tmp_path / "mine.py"
    folder.write(HookConfig("codex", "http://localhost:7700", places=["user"]))
    written = {path for path in folder.folder.rglob("*") if path.is_file()}
    former = [folder.folder / package / "named.py" for package in ("bigmind_screening", "bigmind_triggers")]
    former.append(folder.folder / "bigmind_screening/__pycache__/named.cpython-311.pyc")
    kept = [folder.folder / name for name in ("named.py", "bigmind_screening/notes.txt", "mine/named.py")]
    kept += [folder.folder / "bigmind_screening/__pycache__/values.cpython-311.pyc", elsewhere]
    for path in (*former, *kept):
        path.parent.mkdir(exist_ok=True)
        path.write_text("# Of before.\n")
    link = folder.folder / "bigmind_screening/linked.py"
    link.symlink_to(elsewhere)

    folder.renew()

    assert not [path for path in former if path.exists()]
    assert {path for path in folder.folder.rglob("*") if path.is_file()} == {*written, *kept, link} - {elsewhere}
    assert elsewhere.read_text() == "# Of before.\n"


def test_modules_in_a_folder_that_is_a_link_stay(tmp_path: Path) -> None:
    folder, theirs = HookFolder(tmp_path / "hooks"), tmp_path / "theirs"
    theirs.mkdir()
    folder.folder.mkdir()
    (theirs / "named.py").write_text("# Theirs.\n")
    (folder.folder / "bigmind_screening").symlink_to(theirs)

    folder.write(HookConfig("codex", "http://localhost:7700", places=["user"]))

    assert (theirs / "named.py").read_text() == "# Theirs.\n"


def test_the_last_client_takes_the_program_with_it(tmp_path: Path) -> None:
    folder = HookFolder(tmp_path / "hooks")
    folder.write(HookConfig("codex", "http://localhost:7700", places=["user", "/engine"]))
    folder.write(HookConfig("cursor", "http://localhost:7700", places=["user"]))

    folder.forget("codex", "/engine")
    assert folder.config_of("codex") is not None
    folder.forget("codex", "user")
    assert folder.config_of("codex") is None
    assert (folder.folder / "bigmind_hook.py").exists()
    folder.forget("cursor", "user")

    assert not folder.folder.exists()

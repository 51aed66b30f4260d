"""Each client's real files: what stands in them is kept, what is added is what the client reads, undo is as before."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from accounts.connecting.instruction_files import BEGIN, END, rules_in_file
from accounts.connecting.json_tree import read_tree
from accounts.connecting.server_config import ServerConfig
from accounts.connecting.supported_clients import PROGRAMS
from tests.connecting.homes import DOOR, HERE, KEY, Home

URL = "http://localhost:7700/mcp"
HEADERS = {"Authorization": f"Bearer {KEY}"}

CLAUDE_CODE = """\
{
  "numStartups": 12,
  "projects": {
    "/home/ada/engine": {
      "mcpServers": {}
    }
  },
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/"
    }
  },
  "userID": "Ada – Lovelace"
}
"""
CLAUDE_DESKTOP = '{\n  "mcpServers": {\n    "files": {"command": "npx", "args": ["-y", "files"]}\n  },\n  "scale": 1\n}'
CURSOR = (
    '{\r\n\t"mcpServers": {\r\n\t\t"linear": {\r\n\t\t\t"url": "https://mcp.linear.app/mcp"\r\n\t\t}\r\n\t}\r\n}\r\n'
)
VSCODE = """\
// What VS Code starts.
{
    "inputs": [
        { "type": "promptString", "id": "token", "password": true }, // asked once
    ],
    "servers": {
        /* our own */
        "github": {
            "type": "http",
            "url": "https://api.githubcopilot.com/mcp/",
        },
        // "old": { "command": "old" },
    },
}
"""
JETBRAINS = '{\n    "servers": {\n        // none yet\n    }\n}\n'
WINDSURF = '{"mcpServers":{"figma":{"serverUrl":"https://mcp.figma.com/mcp","disabled":false}}}'
CODEX = """\
# Ada's Codex
model = "gpt-5.5-codex"   # the big one
notify = ["say", "done"]

[mcp_servers.docs]
command = "npx"
args = [
  "-y", # quietly
  "docs",
]

# How much is asked.
[tui]
notifications = true

[projects."/home/ada/engine"]
trust_level = "trusted"
"""
GEMINI = '{\n  // Dracula, always\n  "ui": { "theme": "Dracula" },\n  "mcpServers": {}\n}\n'
NOTES = "# Notes of Ada\n\n- Answer shortly.\n"

CASES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "claude-code": (
        ".claude.json",
        CLAUDE_CODE,
        ".claude/CLAUDE.md",
        {"mcpServers": {"type": "http", "url": URL, "headers": HEADERS}},
    ),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        CLAUDE_DESKTOP,
        "",
        {
            "mcpServers": {
                "command": "/venv/python",
                "args": ["-m", "bigmind", "mcp"],
                "env": {"BIGMIND_API_KEY": KEY, "BIGMIND_HOME": "/data"},
            }
        },
    ),
    "cursor": (".cursor/mcp.json", CURSOR, "", {"mcpServers": {"url": URL, "headers": HEADERS}}),
    "vscode": (
        ".config/Code/User/mcp.json",
        VSCODE,
        ".copilot/instructions/bigmind.instructions.md",
        {"servers": {"type": "http", "url": URL, "headers": HEADERS}},
    ),
    "jetbrains": (
        ".config/github-copilot/intellij/mcp.json",
        JETBRAINS,
        ".config/github-copilot/intellij/global-copilot-instructions.md",
        {"servers": {"url": URL, "requestInit": {"headers": HEADERS}}},
    ),
    "windsurf": (
        ".codeium/windsurf/mcp_config.json",
        WINDSURF,
        ".codeium/windsurf/memories/global_rules.md",
        {"mcpServers": {"serverUrl": URL, "headers": HEADERS}},
    ),
    "codex": (
        ".codex/config.toml",
        CODEX,
        ".codex/AGENTS.md",
        {"mcp_servers": {"url": URL, "http_headers": HEADERS}},
    ),
    "gemini-cli": (
        ".gemini/settings.json",
        GEMINI,
        ".gemini/GEMINI.md",
        {"mcpServers": {"httpUrl": URL, "headers": HEADERS}},
    ),
    "copilot": (
        ".copilot/mcp-config.json",
        WINDSURF,
        ".copilot/copilot-instructions.md",
        {"mcpServers": {"type": "http", "url": URL, "headers": HEADERS, "tools": ["*"]}},
    ),
    "qwen-code": (
        ".qwen/settings.json",
        GEMINI,
        ".qwen/QWEN.md",
        {"mcpServers": {"httpUrl": URL, "headers": HEADERS}},
    ),
    "opencode": (
        ".config/opencode/opencode.json",
        '{\n  "model": "own/large", // Ada\'s own\n  "mcp": { "docs": { "type": "local", "command": ["docs"] } }\n}\n',
        ".config/opencode/AGENTS.md",
        {"mcp": {"type": "remote", "url": URL, "headers": HEADERS, "oauth": False}},
    ),
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def as_read(text: str, place: str) -> dict[str, Any]:
    """Return a configuration as its client reads it."""
    read: dict[str, Any] = tomllib.loads(text) if place.endswith(".toml") else read_tree(text).value
    return read


def test_every_program_with_a_configuration_has_a_case() -> None:
    assert {program.slug for program in PROGRAMS if program.configuration} == CASES.keys()


@pytest.mark.parametrize("slug", CASES)
def test_the_client_finds_bigmind_and_everything_that_was_there(home: Home, slug: str) -> None:
    place, before, told, expected = CASES[slug]
    home.write(place, before)
    if told:
        home.write(told, NOTES)

    home.connect(slug, door=HERE if slug == "claude-desktop" else DOOR)

    (within, entry) = next(iter(expected.items()))
    after = as_read(home.read(place), place)
    assert after[within].pop("bigmind") == entry
    assert after == as_read(before, place)
    assert all(line in home.read(place) for line in before.splitlines() if " //" in line or "#" in line)
    if told:
        assert home.read(told) == f"{NOTES}\n{BEGIN}\n{rules_in_file()}{END}\n"


@pytest.mark.parametrize("slug", CASES)
def test_twice_is_once(home: Home, slug: str) -> None:
    place, before, *_ = CASES[slug]
    home.write(place, before)
    home.connect(slug)
    once = home.files()

    again = home.connect(slug)

    assert [change.state for change in again] == ["unchanged"] * len(again)
    assert home.files() == once


@pytest.mark.parametrize("slug", CASES)
def test_undone_is_as_before(home: Home, slug: str) -> None:
    place, text, told, _ = CASES[slug]
    home.write(place, text, mode=0o640)
    if told:
        home.write(told, NOTES)
    before, folders = home.files(), home.folders()
    home.connect(slug)
    home.connect(slug, door=ServerConfig("https://mind.example.com", KEY))

    home.disconnect(slug)

    assert home.files() == before
    assert home.folders() == folders
    assert not home.records.folder.exists()


@pytest.mark.parametrize("slug", CASES)
def test_where_nothing_was_nothing_is_left(home: Home, slug: str) -> None:
    changes = home.connect(slug)
    states = [change.state for change in changes]

    home.disconnect(slug)

    assert set(states) == {"created"}
    assert home.files() == {}
    assert home.folders() == set()


@pytest.mark.parametrize("slug", CASES)
def test_what_was_changed_since_stays_and_only_ours_goes(home: Home, slug: str) -> None:
    place, text, told, expected = CASES[slug]
    home.write(place, text)
    home.connect(slug)
    path = home.folder / place
    own = "\n[later]\nnew = true\n" if place.endswith(".toml") else None
    changed = path.read_text() + own if own else path.read_text().replace("{", '{ "later": true, ', 1)
    path.write_text(changed)
    if told:
        (home.folder / told).write_text((home.folder / told).read_text() + "\nMine.\n")

    home.disconnect(slug)

    left = as_read(home.read(place), place)
    assert "later" in left
    assert "bigmind" not in left[next(iter(expected))]
    del left["later"]
    assert left == as_read(text, place)
    if told:
        assert "Mine." in home.read(told)
        assert BEGIN not in home.read(told)


@pytest.mark.parametrize("slug", CASES)
def test_a_file_with_a_key_is_for_its_owner_alone(home: Home, slug: str) -> None:
    place, text, told, _ = CASES[slug]
    home.write(place, text, mode=0o644)

    home.connect(slug)

    assert home.files()[place][1] == 0o600
    if told:
        assert KEY.encode() not in home.files()[told][0]


def test_our_entry_is_renewed_and_what_people_added_to_it_stays(home: Home) -> None:
    old = {"mcpServers": {"bigmind": {"serverUrl": "http://old/mcp", "disabledTools": ["memory_erase"]}}}
    home.write(".codeium/windsurf/mcp_config.json", json.dumps(old, indent=2))
    home.write(
        ".codex/config.toml",
        '[mcp_servers.bigmind]\ncommand = "old"\nargs = ["a"]\nenabled = false # for now\n\n'
        '[mcp_servers.bigmind.env]\nA = "b"\n\n[mcp_servers.bigmind.tools.memory_erase]\napproval_mode = "deny"\n',
    )

    home.connect("windsurf")
    home.connect("codex")

    assert json.loads(home.read(".codeium/windsurf/mcp_config.json"))["mcpServers"]["bigmind"] == {
        "disabledTools": ["memory_erase"],
        "serverUrl": URL,
        "headers": HEADERS,
    }
    assert tomllib.loads(home.read(".codex/config.toml"))["mcp_servers"]["bigmind"] == {
        "url": URL,
        "http_headers": HEADERS,
        "enabled": False,
        "tools": {"memory_erase": {"approval_mode": "deny"}},
    }
    assert "# for now" in home.read(".codex/config.toml")


@pytest.mark.parametrize(
    ("system", "variables", "slug", "places"),
    [
        ("macos", {}, "claude-desktop", ["Library/Application Support/Claude/claude_desktop_config.json"]),
        ("macos", {}, "vscode", ["Library/Application Support/Code/User/mcp.json"]),
        ("macos", {}, "jetbrains", [".config/github-copilot/intellij/mcp.json"]),
        ("windows", {}, "claude-desktop", ["AppData/Roaming/Claude/claude_desktop_config.json"]),
        ("windows", {}, "vscode", ["AppData/Roaming/Code/User/mcp.json"]),
        ("windows", {}, "jetbrains", ["AppData/Local/github-copilot/intellij/mcp.json"]),
        ("windows", {}, "codex", [".codex/config.toml", ".codex/AGENTS.md"]),
        ("windows", {"APPDATA": "elsewhere"}, "vscode", ["elsewhere/Code/User/mcp.json"]),
        ("linux", {"XDG_CONFIG_HOME": "xdg"}, "claude-desktop", ["xdg/Claude/claude_desktop_config.json"]),
        ("linux", {"CLAUDE_CONFIG_DIR": "claude"}, "claude-code", ["claude/.claude.json", "claude/CLAUDE.md"]),
        ("linux", {"CODEX_HOME": "codex"}, "codex", ["codex/config.toml", "codex/AGENTS.md"]),
    ],
)
def test_each_system_has_its_own_places(tmp_path, system, variables, slug, places):
    home = Home(tmp_path, system, **{name: str(tmp_path / "home" / at) for name, at in variables.items()})

    home.connect(slug)

    assert set(places) <= home.files().keys()


@pytest.mark.parametrize("folder", ["Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude", "Claude-Data/claude_1"])
def test_the_packaged_claude_desktop_reads_a_folder_of_its_own(tmp_path: Path, folder: str) -> None:
    home = Home(tmp_path, "windows")
    (home.folder / "AppData/Local" / folder).mkdir(parents=True)

    home.connect("claude-desktop")

    assert [*home.files()] == [f"AppData/Local/{folder}/claude_desktop_config.json"]


def test_the_file_that_codex_prefers_is_taken(home: Home) -> None:
    home.write(".codex/AGENTS.override.md", NOTES)

    home.connect("codex")

    assert BEGIN in home.read(".codex/AGENTS.override.md")
    assert not (home.folder / ".codex/AGENTS.md").exists()

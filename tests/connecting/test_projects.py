"""Projects: their files are shared, so no key is ever in them."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from accounts.connecting.instruction_files import BEGIN
from accounts.connecting.json_tree import read_tree
from accounts.connecting.machines import project_at
from accounts.connecting.supported_clients import PROGRAMS
from bigmind.core.errors import Invalid
from tests.connecting.homes import KEY, Home

URL = "http://localhost:7700/mcp"


def bearer(reference: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {reference}"}


CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "claude-code": (
        ".mcp.json",
        "CLAUDE.md",
        {"mcpServers": {"bigmind": {"type": "http", "url": URL, "headers": bearer("${BIGMIND_API_KEY}")}}},
    ),
    "cursor": (
        ".cursor/mcp.json",
        ".cursor/rules/bigmind.mdc",
        {"mcpServers": {"bigmind": {"url": URL, "headers": bearer("${env:BIGMIND_API_KEY}")}}},
    ),
    "vscode": (
        ".vscode/mcp.json",
        ".github/copilot-instructions.md",
        {
            "servers": {"bigmind": {"type": "http", "url": URL, "headers": bearer("${input:bigmind-key}")}},
            "inputs": [{"type": "promptString", "id": "bigmind-key", "description": "BigMind key", "password": True}],
        },
    ),
    "codex": (
        ".codex/config.toml",
        "AGENTS.md",
        {"mcp_servers": {"bigmind": {"url": URL, "bearer_token_env_var": "BIGMIND_API_KEY"}}},
    ),
    "gemini-cli": (
        ".gemini/settings.json",
        "GEMINI.md",
        {"mcpServers": {"bigmind": {"httpUrl": URL, "headers": bearer("${BIGMIND_API_KEY}")}}},
    ),
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def project(home: Home) -> Path:
    folder = home.folder / "engine"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("slug", CASES)
def test_a_project_names_the_key_and_never_holds_it(home: Home, project: Path, slug: str) -> None:
    configuration, instructions, expected = CASES[slug]

    home.connect(slug, project=project)

    text = (project / configuration).read_text()
    assert (tomllib.loads(text) if configuration.endswith(".toml") else read_tree(text).value) == expected
    assert BEGIN in (project / instructions).read_text()
    assert not any(KEY.encode() in content for content, _ in home.files().values())
    assert {Path(place).parts[0] for place in home.files()} == {"engine"}


@pytest.mark.parametrize("slug", [program.slug for program in PROGRAMS if program.project_instructions])
def test_a_project_is_left_as_it_was(home: Home, project: Path, slug: str) -> None:
    home.write("engine/AGENTS.md", "# Engine\n")
    home.write("engine/.vscode/mcp.json", '{\n\t"inputs": [], // none\n}\n')
    before, folders = home.files(), home.folders()
    home.connect(slug, project=project)
    home.connect(slug, project=project)

    home.disconnect(slug, project=project)

    assert home.files() == before
    assert home.folders() == folders


@pytest.mark.parametrize(("slug", "place"), [("jetbrains", ".config/github-copilot"), ("windsurf", ".codeium")])
def test_a_program_without_configurations_of_projects_keeps_the_persons(home, project, slug, place):
    home.connect(slug, project=project)

    with_key = [name for name, (content, _) in home.files().items() if KEY.encode() in content]
    assert len(with_key) == 1
    assert with_key[0].startswith(place)


@pytest.mark.parametrize(
    ("slug", "place", "heading"),
    [
        ("cursor", ".cursor/rules/bigmind.mdc", "alwaysApply: true"),
        ("windsurf", ".windsurf/rules/bigmind.md", "trigger: always_on"),
    ],
)
def test_a_rule_of_its_own_says_that_it_always_applies(home, project, slug, place, heading):
    home.connect(slug, project=project)

    text = (project / place).read_text()
    assert text.startswith("---\n")
    assert heading in text.split("---")[1]


def test_instructions_that_two_programs_share_stay_until_both_have_gone(home: Home, project: Path) -> None:
    shared = project / ".github/copilot-instructions.md"
    home.connect("vscode", project=project)
    home.connect("jetbrains", project=project)

    home.disconnect("vscode", project=project)
    in_between = shared.read_text()
    home.disconnect("jetbrains", project=project)

    assert BEGIN in in_between
    assert not shared.parent.exists()


def test_claude_desktop_knows_no_projects(home: Home, project: Path) -> None:
    with pytest.raises(Invalid, match="knows no projects"):
        home.connect("claude-desktop", project=project)


def test_the_project_is_the_one_that_git_knows(project: Path, tmp_path: Path) -> None:
    inside = project / "src" / "wheels"
    inside.mkdir(parents=True)

    assert project_at(inside) == project
    assert project_at(tmp_path) == tmp_path

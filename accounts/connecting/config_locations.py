"""The programs that `bigmind connect` knows: the files each of them reads, and their current locations.

What is said here was read in the programs' documentation and issues in November 2026. A place is a function of the
machine or of a project; where a program has moved its files, the one that exists already is taken. Windsurf is called
Devin Desktop by now, and reads the files of the old name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import server_entries
from .machines import Machine
from .server_config import KEY_VARIABLE
from .server_entries import Settings, with_variable

Place = Callable[[Machine], Path]

ALWAYS_IN_CURSOR = "---\ndescription: BigMind, the persistent memory\nalwaysApply: true\n---\n\n"
ALWAYS_IN_VSCODE = '---\nname: BigMind\ndescription: BigMind, the persistent memory\napplyTo: "**"\n---\n\n'
ALWAYS_IN_WINDSURF = "---\ntrigger: always_on\n---\n\n"


@dataclass(frozen=True)
class InstructionFile:
    """A file that an agent reads before it works. `heading` is how one that holds only our rules begins."""

    place: Place
    heading: str = ""


@dataclass(frozen=True)
class ProjectInstructions:
    """Files of a project that an agent reads: the first of `names` that exists, else the first."""

    names: tuple[str, ...]
    heading: str = ""


@dataclass(frozen=True)
class AgentProgram:
    """A program with an agent, and the files that tell it about BigMind.

    Attributes:
        slug: What people type.
        settings: What its configuration must say.
        configuration: Where the person's configuration is; None where only a dialog can change it.
        instructions: Where the person's instructions are; None where only a dialog can change them.
        project_settings: What the configuration of a project must say: it is shared, so no key is in it.
        project_configuration: Where a project's configuration is; empty where there is no such thing.
        project_instructions: Where a project's instructions are.
        configure_by_hand: Where in the program a server is added, if there is no file.
        instruct_by_hand: Where in the program instructions are typed, if there is no file.
        key_by: How the key reaches a project's configuration, in words; empty if there is none.
    """

    slug: str
    name: str
    settings: Settings
    configuration: Place | None = None
    instructions: InstructionFile | None = None
    project_settings: Settings | None = None
    project_configuration: str = ""
    project_instructions: ProjectInstructions | None = None
    configure_by_hand: str = ""
    instruct_by_hand: str = ""
    key_by: str = ""


def _claude_code(name: str) -> Place:
    """`CLAUDE_CONFIG_DIR` moves all of it into one folder; otherwise the configuration lies beside that folder."""

    def place(machine: Machine) -> Path:
        default = machine.home if name == ".claude.json" else machine.home / ".claude"
        return machine.folder_of("CLAUDE_CONFIG_DIR", default) / name

    return place


def _claude_desktop(machine: Machine) -> Path:
    """On Windows the package from the store reads a folder of its own, and `%APPDATA%\\Claude` is invisible to it."""
    name = "claude_desktop_config.json"
    if machine.system == "windows":
        packaged = (*machine.local.glob("Claude-Data/[Cc]laude_*"), *machine.local.glob("Packages/Claude_*"))
        inside = [one / "LocalCache/Roaming/Claude" if one.parent.name == "Packages" else one for one in packaged]
        found = next((folder for folder in inside if folder.is_dir()), None)
        if found:
            return found / name
    return machine.configuration / "Claude" / name


def _vscode(machine: Machine) -> Path:
    """The user's profile, of the edition that is installed."""
    editions = [machine.configuration / edition / "User" for edition in ("Code", "Code - Insiders", "VSCodium")]
    return next((folder for folder in editions if folder.is_dir()), editions[0]) / "mcp.json"


def _copilot_of_jetbrains(name: str) -> Place:
    """One folder for all IDEs; on macOS too it is below `~/.config`."""

    def place(machine: Machine) -> Path:
        base = machine.local if machine.system == "windows" else machine.dotted
        return base / "github-copilot" / "intellij" / name

    return place


def _in_home(*parts: str) -> Place:
    return lambda machine: machine.home.joinpath(*parts)


def _codex(*names: str) -> Place:
    """`CODEX_HOME` moves the folder. `AGENTS.override.md` is read instead of `AGENTS.md` where it exists."""

    def place(machine: Machine) -> Path:
        folder = machine.folder_of("CODEX_HOME", machine.home / ".codex")
        return next((folder / name for name in names if (folder / name).exists()), folder / names[-1])

    return place


def _opencode(*names: str) -> Place:
    """It keeps to `XDG_CONFIG_HOME` on every system, and reads comments in either of its files."""

    def place(machine: Machine) -> Path:
        folder = machine.dotted / "opencode"
        return next((folder / name for name in names if (folder / name).exists()), folder / names[-1])

    return place


COPILOT_PROJECT = ProjectInstructions((".github/copilot-instructions.md",))

PROGRAMS = (
    AgentProgram(
        "claude-code",
        "Claude Code",
        server_entries.claude_code,
        _claude_code(".claude.json"),
        InstructionFile(_claude_code("CLAUDE.md")),
        with_variable(server_entries.claude_code, f"${{{KEY_VARIABLE}}}"),
        ".mcp.json",
        ProjectInstructions(("CLAUDE.md", ".claude/CLAUDE.md")),
        key_by=f"Claude Code reads the key from the variable {KEY_VARIABLE}.",
    ),
    AgentProgram(
        "claude-desktop",
        "Claude Desktop",
        server_entries.claude_desktop,
        _claude_desktop,
        instruct_by_hand="Settings, General, personal preferences",
    ),
    AgentProgram(
        "cursor",
        "Cursor",
        server_entries.cursor,
        _in_home(".cursor", "mcp.json"),
        None,
        with_variable(server_entries.cursor, f"${{env:{KEY_VARIABLE}}}"),
        ".cursor/mcp.json",
        ProjectInstructions((".cursor/rules/bigmind.mdc",), ALWAYS_IN_CURSOR),
        instruct_by_hand="Settings, Rules, User Rules",
        key_by=f"Cursor reads the key from the variable {KEY_VARIABLE}.",
    ),
    AgentProgram(
        "vscode",
        "VS Code with Copilot",
        server_entries.vscode,
        _vscode,
        InstructionFile(_in_home(".copilot", "instructions", "bigmind.instructions.md"), ALWAYS_IN_VSCODE),
        server_entries.vscode_asking,
        ".vscode/mcp.json",
        COPILOT_PROJECT,
        key_by="VS Code asks for the key when the server starts for the first time, and keeps it.",
    ),
    AgentProgram(
        "jetbrains",
        "JetBrains with Copilot",
        server_entries.jetbrains,
        _copilot_of_jetbrains("mcp.json"),
        InstructionFile(_copilot_of_jetbrains("global-copilot-instructions.md")),
        project_instructions=COPILOT_PROJECT,
    ),
    AgentProgram(
        "jetbrains-ai",
        "JetBrains AI Assistant",
        server_entries.claude_desktop,
        project_instructions=ProjectInstructions((".aiassistant/rules/bigmind.md",)),
        configure_by_hand="Settings, Tools, AI Assistant, Model Context Protocol (MCP), Add, as JSON",
        instruct_by_hand="Settings, Tools, AI Assistant, Rules (a file of each project)",
    ),
    AgentProgram(
        "windsurf",
        "Windsurf",
        server_entries.windsurf,
        _in_home(".codeium", "windsurf", "mcp_config.json"),
        InstructionFile(_in_home(".codeium", "windsurf", "memories", "global_rules.md")),
        project_instructions=ProjectInstructions((".windsurf/rules/bigmind.md",), ALWAYS_IN_WINDSURF),
    ),
    AgentProgram(
        "codex",
        "Codex",
        server_entries.codex,
        _codex("config.toml"),
        InstructionFile(_codex("AGENTS.override.md", "AGENTS.md")),
        server_entries.codex_by_variable,
        ".codex/config.toml",
        ProjectInstructions(("AGENTS.md",)),
        key_by=f"Codex reads the key from the variable {KEY_VARIABLE}, in projects that it trusts.",
    ),
    AgentProgram(
        "gemini-cli",
        "Gemini CLI",
        server_entries.gemini,
        _in_home(".gemini", "settings.json"),
        InstructionFile(_in_home(".gemini", "GEMINI.md")),
        with_variable(server_entries.gemini, f"${{{KEY_VARIABLE}}}"),
        ".gemini/settings.json",
        ProjectInstructions(("GEMINI.md",)),
        key_by=f"Gemini CLI reads the key from the variable {KEY_VARIABLE}.",
    ),
    AgentProgram(
        "copilot",
        "Copilot CLI",
        server_entries.copilot,
        _in_home(".copilot", "mcp-config.json"),
        InstructionFile(_in_home(".copilot", "copilot-instructions.md")),
        project_instructions=COPILOT_PROJECT,
    ),
    AgentProgram(
        "qwen-code",
        "Qwen Code",
        server_entries.gemini,
        _in_home(".qwen", "settings.json"),
        InstructionFile(_in_home(".qwen", "QWEN.md")),
        with_variable(server_entries.gemini, f"${{{KEY_VARIABLE}}}"),
        ".qwen/settings.json",
        ProjectInstructions(("QWEN.md",)),
        key_by=f"Qwen Code reads the key from the variable {KEY_VARIABLE}.",
    ),
    AgentProgram(
        "opencode",
        "opencode",
        server_entries.opencode,
        _opencode("opencode.jsonc", "opencode.json"),
        InstructionFile(_opencode("AGENTS.md")),
        with_variable(server_entries.opencode, f"{{env:{KEY_VARIABLE}}}"),
        "opencode.json",
        ProjectInstructions(("AGENTS.md",)),
        key_by=f"opencode reads the key from the variable {KEY_VARIABLE}.",
    ),
)


def program_called(slug: str) -> AgentProgram | None:
    """Return the program of this slug, if there is one."""
    return next((program for program in PROGRAMS if program.slug == slug), None)

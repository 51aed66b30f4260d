"""The programs that can talk to BigMind: the files each of them reads, where they are, and what to paste by hand.

What is said here was read in the programs' documentation and issues in November 2026. A place is a function of the
machine or of a project; where a program has moved its files, the one that exists already is taken. Windsurf is called
Devin Desktop by now, and reads the files of the old name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bigmind.core.translation import gettext_lazy

from . import server_entries, snippets
from .machines import Machine
from .server_config import KEY_VARIABLE, ServerConfig
from .server_entries import Settings, with_variable
from .snippets import Snippet, json_snippet

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
        pasted_into: The file or dialog that the settings are pasted into, as JSON.
        write_snippets: Writes what to paste where that is not JSON.
        then: What to do once it is pasted.
        rules: Where the instructions for its agent belong, in words; empty when there is no agent to instruct.
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
    pasted_into: str = ""
    write_snippets: Callable[[ServerConfig], list[Snippet]] | None = None
    then: str = ""
    rules: str = ""

    def snippets(self, config: ServerConfig) -> list[Snippet]:
        if self.write_snippets:
            return self.write_snippets(config)
        return [json_snippet(self.pasted_into, self.settings(config))]


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
        write_snippets=snippets.claude_code,
        then=gettext_lazy("Start a session and type /mcp: bigmind is listed as connected."),
        rules=gettext_lazy("CLAUDE.md of a project, or ~/.claude/CLAUDE.md for all of them"),
    ),
    AgentProgram(
        "claude-desktop",
        "Claude Desktop",
        server_entries.claude_desktop,
        _claude_desktop,
        instruct_by_hand="Settings, General, personal preferences",
        pasted_into="claude_desktop_config.json (Settings, Developer, Edit Config)",
        then=gettext_lazy(
            "Quit Claude Desktop and start it again: it reads this file only then, and takes only programs that it "
            "starts itself."
        ),
        rules=gettext_lazy("Settings, General, personal preferences"),
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
        pasted_into="~/.cursor/mcp.json",
        then=gettext_lazy("In Settings, MCP, bigmind shows a green dot."),
        rules=gettext_lazy(".cursor/rules/bigmind.mdc or AGENTS.md of a project, or Settings, Rules for all of them"),
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
        pasted_into="mcp.json (command palette: MCP: Open User Configuration)",
        then=gettext_lazy("Choose Start above the entry, then switch Copilot Chat to Agent."),
        rules=gettext_lazy(".github/copilot-instructions.md of a project, or ~/.copilot/instructions/ for all of them"),
    ),
    AgentProgram(
        "jetbrains",
        "JetBrains with Copilot",
        server_entries.jetbrains,
        _copilot_of_jetbrains("mcp.json"),
        InstructionFile(_copilot_of_jetbrains("global-copilot-instructions.md")),
        project_instructions=COPILOT_PROJECT,
        pasted_into="mcp.json (Copilot icon, Edit Settings, Model Context Protocol, Configure)",
        then=gettext_lazy("Save the file, then switch Copilot Chat to Agent."),
        rules=gettext_lazy(
            ".github/copilot-instructions.md of a project, or Settings, Tools, GitHub Copilot, Customizations for all"
        ),
    ),
    AgentProgram(
        "jetbrains-ai",
        "JetBrains AI Assistant",
        server_entries.claude_desktop,
        project_instructions=ProjectInstructions((".aiassistant/rules/bigmind.md",)),
        configure_by_hand="Settings, Tools, AI Assistant, Model Context Protocol (MCP), Add, as JSON",
        instruct_by_hand="Settings, Tools, AI Assistant, Rules (a file of each project)",
        pasted_into="Settings, Tools, AI Assistant, Model Context Protocol, Add, as JSON",
        then=gettext_lazy("Press Apply: the status of bigmind turns green."),
        rules=gettext_lazy(".aiassistant/rules/bigmind.md of a project"),
    ),
    AgentProgram(
        "windsurf",
        "Windsurf",
        server_entries.windsurf,
        _in_home(".codeium", "windsurf", "mcp_config.json"),
        InstructionFile(_in_home(".codeium", "windsurf", "memories", "global_rules.md")),
        project_instructions=ProjectInstructions((".windsurf/rules/bigmind.md",), ALWAYS_IN_WINDSURF),
        pasted_into="~/.codeium/windsurf/mcp_config.json",
        then=gettext_lazy("Press Refresh in the MCP panel of Cascade."),
        rules=gettext_lazy("AGENTS.md of a project, or ~/.codeium/windsurf/memories/global_rules.md for all of them"),
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
        write_snippets=snippets.codex,
        then=gettext_lazy("Start Codex and type /mcp: bigmind is listed."),
        rules=gettext_lazy("AGENTS.md of a project, or ~/.codex/AGENTS.md for all of them"),
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
        pasted_into="~/.gemini/settings.json",
        then=gettext_lazy("Start Gemini and type /mcp list: bigmind is ready."),
        rules=gettext_lazy("GEMINI.md of a project, or ~/.gemini/GEMINI.md for all of them"),
    ),
    AgentProgram(
        "copilot",
        "Copilot CLI",
        server_entries.copilot,
        _in_home(".copilot", "mcp-config.json"),
        InstructionFile(_in_home(".copilot", "copilot-instructions.md")),
        project_instructions=COPILOT_PROJECT,
        pasted_into="~/.copilot/mcp-config.json",
        then=gettext_lazy("Start copilot and type /mcp show: bigmind is listed."),
        rules=gettext_lazy(
            ".github/copilot-instructions.md of a project, or ~/.copilot/copilot-instructions.md for all of them"
        ),
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
        pasted_into="~/.qwen/settings.json",
        then=gettext_lazy("Start Qwen Code and type /mcp: bigmind is ready."),
        rules=gettext_lazy("QWEN.md of a project, or ~/.qwen/QWEN.md for all of them"),
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
        pasted_into="~/.config/opencode/opencode.json",
        then=gettext_lazy("Start opencode: its status names bigmind as connected."),
        rules=gettext_lazy("AGENTS.md of a project, or ~/.config/opencode/AGENTS.md for all of them"),
    ),
)


CLIENTS = (
    *PROGRAMS,
    AgentProgram(
        "python",
        "Python",
        server_entries.claude_code,
        write_snippets=snippets.python,
        then=gettext_lazy("Run it: it prints what your agent would receive."),
    ),
    AgentProgram(
        "other",
        "Any other client",
        server_entries.claude_code,
        write_snippets=snippets.any_other,
        then=gettext_lazy("The address speaks Streamable HTTP; the key goes into the Authorization header."),
        rules=gettext_lazy("The client's own system prompt or instructions"),
    ),
)
"""Also what has no files that `bigmind connect` could write."""


def program_called(slug: str) -> AgentProgram | None:
    """Return the program of this slug that `bigmind connect` knows, if there is one."""
    return next((program for program in PROGRAMS if program.slug == slug), None)


def client_called(slug: str) -> AgentProgram | None:
    return next((client for client in CLIENTS if client.slug == slug), None)

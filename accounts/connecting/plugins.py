"""A plugin for Claude Code and Codex, and an extension for Gemini CLI: hooks, server, a command and the rules.

One folder serves both Claude Code and Codex, which reads the marketplace of the other. No key is in it: clients take it
from the variable BIGMIND_API_KEY, and the hook program also from `BIGMIND_HOME/hooks`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bigmind import __version__
from bigmind.core.errors import Conflict

from . import server_entries
from .files import find_file, replace_file
from .hook_files import write_program
from .hooks import PROGRAM_FILE, ClientHooks, HookConnection, HookKind, HookProgram, bring_context, hooks_of
from .rules import rules_in_file
from .server_config import KEY_VARIABLE, ServerConfig

NAME = "bigmind"
ABOUT = "Persistent memory for AI agents, shared and checked by people"
MARKS = (".claude-plugin/marketplace.json", "gemini-extension.json")
"""By one of these a folder is recognised as written here."""
RECALL = (
    "Search BigMind for what is known about the following, answer with what it says and cite the handles; where "
    "nothing is known, say so: "
)
SKILL = """\
---
name: memory
description: How to use BigMind, the persistent memory of this person and their company. Read it when a task starts.
---

"""
COMMAND = f"""\
---
description: Recall what BigMind knows about something
---

{RECALL}$ARGUMENTS
"""


@dataclass(frozen=True)
class _ProgramOfPlugin(HookProgram):
    """The hook program in a plugin's own folder, which the client names; Python is whichever the machine has."""

    def command(self, client: str, event: str = "", *, syntax: Literal["sh", "powershell", "cmd"] = "sh") -> str:
        """Return the command line: one that shells of every system read."""
        return f'{self.python} -I -S "{self.file}" {client}; exit 0'


@dataclass(frozen=True)
class WrittenPlugin:
    """A folder that was written, and the commands that install it."""

    folder: Path
    install: tuple[str, ...]


def write_plugin(client: str, folder: Path, config: ServerConfig, kinds: tuple[HookKind, ...]) -> WrittenPlugin:
    """Write the plugin or the extension for a client into a folder; one that was written here before is renewed.

    Raises:
        Conflict: the folder holds something else.
        Forbidden: it may not be written.
    """
    if folder.exists() and any(folder.iterdir()) and not any((folder / mark).is_file() for mark in MARKS):
        raise Conflict(f"{folder} holds something else.", hint="Name a folder that is empty, or that does not exist.")
    if client == "gemini-cli":
        _write(folder, _extension(config, kinds))
        _write_program(folder, config)
        return WrittenPlugin(folder, (f"gemini extensions install {folder}",))
    _write(folder, _marketplace())
    _write(folder / NAME, _plugin(config, kinds))
    _write_program(folder / NAME, config)
    return WrittenPlugin(
        folder,
        (
            f"claude plugin marketplace add {folder} && claude plugin install {NAME}@{NAME}",
            f"codex plugin marketplace add {folder} && codex plugin add {NAME}@{NAME}",
        ),
    )


def _marketplace() -> dict[str, Any]:
    plugin = {"name": NAME, "source": f"./{NAME}", "description": ABOUT, "version": __version__}
    described = {"name": NAME, "owner": {"name": "BigMind"}, "metadata": {"description": ABOUT}, "plugins": [plugin]}
    return {MARKS[0]: described}


def _plugin(config: ServerConfig, kinds: tuple[HookKind, ...]) -> dict[str, Any]:
    described = {"name": NAME, "version": __version__, "description": ABOUT}
    places = {"skills": "./skills/", "mcpServers": "./codex.mcp.json", "hooks": "./hooks/codex.json"}
    return {
        ".claude-plugin/plugin.json": {**described, "author": {"name": "BigMind"}},
        ".codex-plugin/plugin.json": {**described, **places},
        ".mcp.json": _servers(server_entries.with_variable(server_entries.claude_code, f"${{{KEY_VARIABLE}}}")(config)),
        "codex.mcp.json": {"mcpServers": _only(server_entries.codex_by_variable(config))},
        "hooks/hooks.json": _hooks("claude-code", "${CLAUDE_PLUGIN_ROOT}", kinds),
        "hooks/codex.json": _hooks("codex", "${CLAUDE_PLUGIN_ROOT}", kinds),
        "commands/recall.md": COMMAND,
        "skills/memory/SKILL.md": SKILL + _rules(kinds),
    }


def _extension(config: ServerConfig, kinds: tuple[HookKind, ...]) -> dict[str, Any]:
    asked = {
        "name": "BigMind API key",
        "description": "A key that the page “Keys” of your BigMind makes.",
        "envVar": KEY_VARIABLE,
        "sensitive": True,
    }
    described = {"name": NAME, "version": __version__, "description": ABOUT, "contextFileName": "GEMINI.md"}
    server = _servers(server_entries.with_variable(server_entries.gemini, f"${KEY_VARIABLE}")(config))
    return {
        MARKS[1]: {**described, **server, "settings": [asked]},
        "hooks/hooks.json": _hooks("gemini-cli", "${extensionPath}", kinds),
        "commands/recall.toml": (
            f'description = "Recall what BigMind knows about something"\nprompt = "{RECALL}{{{{args}}}}"\n'
        ),
        "GEMINI.md": _rules(kinds),
    }


def _rules(kinds: tuple[HookKind, ...]) -> str:
    return rules_in_file(has_hooks=bring_context(kinds))


def _servers(settings: list[server_entries.Setting]) -> dict[str, Any]:
    return {setting.within: {setting.name: setting.value} for setting in settings}


def _only(settings: list[server_entries.Setting]) -> dict[str, Any]:
    return {setting.name: setting.value for setting in settings}


def _hooks(slug: str, root: str, kinds: tuple[HookKind, ...]) -> dict[str, Any]:
    client = hooks_of(slug)
    assert isinstance(client, ClientHooks)
    program = _ProgramOfPlugin("python3", f"{root}/{PROGRAM_FILE}", "linux")
    found: dict[str, list[Any]] = {}
    for event, entry in client.entries(HookConnection(program, kinds)):
        found.setdefault(event.name, []).append(entry)
    return {"hooks": found}


def _write_program(folder: Path, config: ServerConfig) -> None:
    write_program(folder)
    _write(folder, {f"{NAME}.json": {"url": config.public_url, "version": __version__}})


def _write(folder: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(find_file(path), text.encode(), mode=0o644)

"""The programs that can talk to BigMind: what to paste into each, and where its agent's instructions belong."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from accounts.connecting import snippets
from accounts.connecting.config_locations import program_called
from accounts.connecting.machines import Machine
from accounts.connecting.server_config import KEY_PLACEHOLDER, ServerConfig
from accounts.connecting.snippets import Snippet
from bigmind.core.translation import gettext_lazy
from bigmind.network.addresses import LOOPBACK


@dataclass(frozen=True)
class ClientProgram:
    """A program that can talk to BigMind, and how it is connected.

    Attributes:
        slug: Its name in addresses and forms.
        write: Writes what to paste for a server config.
        then: What to do once it is pasted.
        rules: Where the instructions for its agent belong; empty when there is no agent to instruct.
    """

    slug: str
    name: str
    write: Callable[[ServerConfig], list[Snippet]]
    then: str
    rules: str = ""

    def command(self, config: ServerConfig) -> str:
        """Return the single command that writes all this; empty if there is no file to write."""
        written = program_called(self.slug)
        if written is None or written.configuration is None:
            return ""
        # On the machine of BigMind itself the command knows the address, and makes the key.
        address = [] if config.command else [f'--url "{config.public_url}"']
        key = [] if config.command and config.key == KEY_PLACEHOLDER else [f"--key {config.key}"]
        toolsets = [f"--toolsets {','.join(config.toolsets)}"] if config.toolsets else []
        program = bigmind_here(dict(config.environment).get("BIGMIND_HOME", "")) if config.command else "bigmind"
        return " ".join([f"{program} connect {self.slug}", *address, *key, *toolsets])


def door(*, key: str = "", toolsets: Collection[str] = ()) -> ServerConfig:
    """Return the server config of this instance, for a key and the toolsets that a client lists."""
    command, environment = _local_command()
    return ServerConfig(settings.PUBLIC_URL, key or KEY_PLACEHOLDER, tuple(toolsets), command, environment)


def client_called(slug: str) -> ClientProgram | None:
    """Return the client of this slug, if there is one."""
    return next((client for client in CLIENTS if client.slug == slug), None)


def ways_in(config: ServerConfig) -> list[tuple[ClientProgram, list[Snippet], str]]:
    """Return every client with what to paste into it for this server, and the one command that does it all."""
    return [(client, client.write(config), client.command(config)) for client in CLIENTS]


def bigmind_here(home: str = "") -> str:
    """Return what starts this BigMind's own program in a terminal of this machine: its path, unless PATH leads to it.

    A home that is not the usual one is named, so that the program finds the same BigMind.
    """
    elsewhere = home and os.name == "posix" and Path(home) != Path.home() / ".bigmind"
    return f"BIGMIND_HOME={shlex.quote(home)} {_program()}" if elsewhere else _program()


def _program() -> str:
    own = Path(sys.executable).with_name("bigmind")
    found = shutil.which("bigmind")
    if found and Path(found).resolve() == own.resolve():
        return "bigmind"
    return shlex.quote(str(own)) if own.exists() else f"{shlex.quote(sys.executable)} -m bigmind"


def find_clients() -> list[ClientProgram]:
    """Return the clients on this machine; none if the browser may be on another one."""
    command, _ = _local_command()
    machine = Machine.here()
    return [client for client in CLIENTS if command and _has_files(client, machine)]


def _has_files(client: ClientProgram, machine: Machine) -> bool:
    """Whether a client has its configuration here, or a folder of its own for it."""
    program = program_called(client.slug)
    if program is None or program.configuration is None:
        return False
    file = program.configuration(machine)
    return file.exists() or (file.parent != machine.home and file.parent.is_dir())


def _local_command() -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """How this machine's own clients start `bigmind mcp`: only if the browser is certainly on this machine.

    Everything is spelt out, because a client with windows sees neither the shell's PATH nor its variables. A database
    elsewhere would have to be named with its password, so then the way through the web is the better one.
    """
    environment = settings.ENVIRONMENT
    is_here = environment.mode == "personal" and urlsplit(settings.PUBLIC_URL).hostname in LOOPBACK
    if not is_here or not environment.is_embedded:
        return (), ()
    command = (sys.executable, "-m", "bigmind", "mcp")
    return command, (("BIGMIND_HOME", str(environment.home)), ("BIGMIND_PUBLIC_URL", settings.PUBLIC_URL))


CLIENTS = (
    ClientProgram(
        "claude-code",
        "Claude Code",
        snippets.claude_code,
        gettext_lazy("Start a session and type /mcp: bigmind is listed as connected."),
        gettext_lazy("CLAUDE.md of a project, or ~/.claude/CLAUDE.md for all of them"),
    ),
    ClientProgram(
        "claude-desktop",
        "Claude Desktop",
        snippets.claude_desktop,
        gettext_lazy(
            "Quit Claude Desktop and start it again: it reads this file only then, and takes only programs that it "
            "starts itself."
        ),
        gettext_lazy("Settings, General, personal preferences"),
    ),
    ClientProgram(
        "cursor",
        "Cursor",
        snippets.cursor,
        gettext_lazy("In Settings, MCP, bigmind shows a green dot."),
        gettext_lazy(".cursor/rules/bigmind.mdc or AGENTS.md of a project, or Settings, Rules for all of them"),
    ),
    ClientProgram(
        "vscode",
        "VS Code with Copilot",
        snippets.vscode,
        gettext_lazy("Choose Start above the entry, then switch Copilot Chat to Agent."),
        gettext_lazy(".github/copilot-instructions.md of a project, or ~/.copilot/instructions/ for all of them"),
    ),
    ClientProgram(
        "jetbrains",
        "JetBrains with Copilot",
        snippets.jetbrains,
        gettext_lazy("Save the file, then switch Copilot Chat to Agent."),
        gettext_lazy(
            ".github/copilot-instructions.md of a project, or Settings, Tools, GitHub Copilot, Customizations for all"
        ),
    ),
    ClientProgram(
        "jetbrains-ai",
        "JetBrains AI Assistant",
        snippets.jetbrains_ai,
        gettext_lazy("Press Apply: the status of bigmind turns green."),
        gettext_lazy(".aiassistant/rules/bigmind.md of a project"),
    ),
    ClientProgram(
        "windsurf",
        "Windsurf",
        snippets.windsurf,
        gettext_lazy("Press Refresh in the MCP panel of Cascade."),
        gettext_lazy("AGENTS.md of a project, or ~/.codeium/windsurf/memories/global_rules.md for all of them"),
    ),
    ClientProgram(
        "codex",
        "Codex",
        snippets.codex,
        gettext_lazy("Start Codex and type /mcp: bigmind is listed."),
        gettext_lazy("AGENTS.md of a project, or ~/.codex/AGENTS.md for all of them"),
    ),
    ClientProgram(
        "gemini-cli",
        "Gemini CLI",
        snippets.gemini,
        gettext_lazy("Start Gemini and type /mcp list: bigmind is ready."),
        gettext_lazy("GEMINI.md of a project, or ~/.gemini/GEMINI.md for all of them"),
    ),
    ClientProgram(
        "copilot",
        "Copilot CLI",
        snippets.copilot,
        gettext_lazy("Start copilot and type /mcp show: bigmind is listed."),
        gettext_lazy(
            ".github/copilot-instructions.md of a project, or ~/.copilot/copilot-instructions.md for all of them"
        ),
    ),
    ClientProgram(
        "qwen-code",
        "Qwen Code",
        snippets.qwen,
        gettext_lazy("Start Qwen Code and type /mcp: bigmind is ready."),
        gettext_lazy("QWEN.md of a project, or ~/.qwen/QWEN.md for all of them"),
    ),
    ClientProgram(
        "opencode",
        "opencode",
        snippets.opencode,
        gettext_lazy("Start opencode: its status names bigmind as connected."),
        gettext_lazy("AGENTS.md of a project, or ~/.config/opencode/AGENTS.md for all of them"),
    ),
    ClientProgram(
        "python", "Python", snippets.python, gettext_lazy("Run it: it prints what your agent would receive.")
    ),
    ClientProgram(
        "other",
        "Any other client",
        snippets.any_other,
        gettext_lazy("The address speaks Streamable HTTP; the key goes into the Authorization header."),
        gettext_lazy("The client's own system prompt or instructions"),
    ),
)

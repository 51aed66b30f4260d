"""The programs that can talk to BigMind: what each is told, and the rules that make its agent use its memory."""

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from accounts import snippets
from accounts.snippets import KEY_PLACEHOLDER, LOOPBACK, Door, Snippet

RULES = """\
You have access to a BigMind persistent memory MCP server.

Rules (mandatory):
- ALWAYS call memory_start_session() as the very first action of every conversation.
- ALWAYS call memory_end_session() as the very last action before closing a conversation.
- Call memory_flag_important() whenever a significant decision, code change, or new
  preference is mentioned — do not wait to be asked.
- If asked "do you remember…", call memory_search_chunks() or
  memory_get_session_detail() before answering from your own knowledge.
"""


@dataclass(frozen=True)
class Client:
    """A program that can talk to BigMind, and how it is told to.

    Attributes:
        slug: Its name in addresses and forms.
        write: Writes what to paste for a door.
        then: What to do once it is pasted.
        rules: Where the instructions for its agent belong; empty when there is no agent to instruct.
    """

    slug: str
    name: str
    write: Callable[[Door], list[Snippet]]
    then: str
    rules: str = ""


def door(*, key: str = "", toolsets: Collection[str] = ()) -> Door:
    """Return the door of this instance, for a key and the toolsets a client is to list."""
    command, environment = _local_command()
    return Door(settings.PUBLIC_URL, key or KEY_PLACEHOLDER, tuple(toolsets), command, environment)


def client_called(slug: str) -> Client | None:
    """Return the client of this slug, if there is one."""
    return next((client for client in CLIENTS if client.slug == slug), None)


def ways_in(door: Door) -> list[tuple[Client, list[Snippet]]]:
    """Return every client with what to paste into it for this door."""
    return [(client, client.write(door)) for client in CLIENTS]


def _local_command() -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """How this machine's own clients start `bigmind mcp`: only where the browser's machine is surely this one.

    Everything is spelt out, because a client with windows sees neither the shell's PATH nor its variables. A database
    elsewhere would have to be named with its password, so then the way through the web is the better one.
    """
    environment = settings.ENVIRONMENT
    is_here = environment.mode == "personal" and urlsplit(settings.PUBLIC_URL).hostname in LOOPBACK
    if not is_here or not environment.is_embedded:
        return (), ()
    command = (sys.executable, str(Path(settings.BASE_DIR) / "manage.py"), "mcp")
    return command, (("BIGMIND_HOME", str(environment.home)), ("BIGMIND_PUBLIC_URL", settings.PUBLIC_URL))


CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        snippets.claude_code,
        "Start a session and type /mcp: bigmind is listed as connected.",
        "CLAUDE.md of a project, or ~/.claude/CLAUDE.md for all of them",
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        snippets.claude_desktop,
        "Quit Claude Desktop and start it again: it reads this file only then, and takes only programs that it "
        "starts itself.",
        "Settings, General, personal preferences",
    ),
    Client(
        "cursor",
        "Cursor",
        snippets.cursor,
        "In Settings, MCP, bigmind shows a green dot.",
        "AGENTS.md of a project, or Settings, Rules for all of them",
    ),
    Client(
        "vscode",
        "VS Code with Copilot",
        snippets.vscode,
        "Choose Start above the entry, then switch Copilot Chat to Agent.",
        ".github/copilot-instructions.md of a project",
    ),
    Client(
        "jetbrains",
        "JetBrains with Copilot",
        snippets.jetbrains,
        "Save the file, then switch Copilot Chat to Agent.",
        ".github/copilot-instructions.md of a project",
    ),
    Client(
        "windsurf",
        "Windsurf",
        snippets.windsurf,
        "Press Refresh in the MCP panel of Cascade.",
        "AGENTS.md of a project, or ~/.codeium/windsurf/memories/global_rules.md for all of them",
    ),
    Client(
        "codex",
        "Codex",
        snippets.codex,
        "Start Codex and type /mcp: bigmind is listed.",
        "AGENTS.md of a project, or ~/.codex/AGENTS.md for all of them",
    ),
    Client(
        "gemini-cli",
        "Gemini CLI",
        snippets.gemini,
        "Start Gemini and type /mcp list: bigmind is ready.",
        "GEMINI.md of a project, or ~/.gemini/GEMINI.md for all of them",
    ),
    Client("python", "Python", snippets.python, "Run it: it prints what your agent would be told."),
    Client(
        "other",
        "Any other client",
        snippets.any_other,
        "The address speaks Streamable HTTP; the key goes into the Authorization header.",
        "The client's own system prompt or instructions",
    ),
)

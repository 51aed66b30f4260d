"""The hooks of each client: which events it has, and the exact entry that makes it report them to BigMind.

What is said here of Claude Code, Codex and Gemini CLI was seen with the clients themselves in November 2026; the rest
stands in their documentation. A time-out is in the client's own unit. An entry must be the same each time it is made,
for Codex asks again for the trust of one that has changed.
"""

import json
import shlex
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from bigmind.network.addresses import LOOPBACK

from .machines import Machine, System

HookKind = Literal["start", "prompt", "tool", "act", "stop", "compact", "end"]
PROGRAM_FILE = "bigmind_hook.py"
ACT_FILE = "bigmind_act.py"
"""What clients start for an act. It stands beside the other, and is small, because it is started so often."""
NO_PROCESS = {"prompt", "tool"}
"""What Claude Code may send by itself: nothing is lost if it is not delivered, and no transcript is read for it.
Decision 31."""


@dataclass(frozen=True)
class KindOfHook:
    """What people consent to, for one kind of event."""

    kind: HookKind
    when: str
    reads: str
    brings: str


KINDS_OF_HOOKS = (
    KindOfHook(
        "start",
        "a conversation starts, is resumed, cleared or compacted",
        "the working folder, the name of its git repository and branch",
        "the context of the project",
    ),
    KindOfHook("prompt", "you send a prompt", "the prompt", "what is known of it, at most 300 tokens, or nothing"),
    KindOfHook(
        "tool", "the agent calls a tool of BigMind", "the call's id and arguments", "the conversation it belongs to"
    ),
    KindOfHook(
        "act",
        "the agent is about to use a tool, you send a prompt, or a tool fails",
        "the command, the paths, the prompt or the error, to compare them on this machine; what was done is sent "
        "later, without secrets, as a record for you alone, which you can switch off",
        "the entry whose trigger fires, or nothing; what curators or you decided so is held back",
    ),
    KindOfHook(
        "stop",
        "the agent has answered",
        "what was said since the last time, names of changed files, commits",
        "at most one reminder to wrap up",
    ),
    KindOfHook("compact", "the client compacts the conversation", "what was said since the last time", "nothing"),
    KindOfHook(
        "end",
        "the conversation ends",
        "what was said since the last time, names of changed files, commits",
        "nothing",
    ),
)
KINDS: tuple[HookKind, ...] = tuple(one.kind for one in KINDS_OF_HOOKS)


@dataclass(frozen=True)
class HookProgram:
    """How a client runs the hook program: which Python, which file, for whom."""

    python: str
    file: str
    system: System

    def for_acts(self) -> "HookProgram":
        """Return the program beside it that clients start for an act."""
        return replace(self, file=self.file.removesuffix(PROGRAM_FILE) + ACT_FILE)

    def words(self, client: str, event: str = "") -> list[str]:
        """Return the command for a client that starts it without a shell."""
        return [self.python, "-I", "-S", self.file, client, *([event] if event else [])]

    def command(self, client: str, event: str = "", *, syntax: Literal["sh", "powershell", "cmd"] = "sh") -> str:
        """Return the command line. It ends well even where the program is gone, for exit 2 refuses a prompt."""
        words = self.words(client, event)
        if self.system != "windows":
            return f"{shlex.join(words)}; exit 0"
        line = " ".join(f'"{word}"' if " " in word or ":" in word else word for word in words)
        if syntax == "sh":  # the one that comes with git
            return f"{line.replace(chr(92), '/')}; exit 0"
        return f"& {line}; exit 0" if syntax == "powershell" else f"{line} & exit 0"


@dataclass(frozen=True)
class HookConnection:
    """What the person consented to, and where BigMind is.

    Attributes:
        kinds: The kinds of events to tell of.
        url: The address of BigMind.
        key: A key, for entries that call it without the program; empty where none may stand in the file.
    """

    program: HookProgram
    kinds: tuple[HookKind, ...] = KINDS
    url: str = ""
    key: str = ""

    @property
    def calls_directly(self) -> bool:
        """Whether a client may send events by itself: only on this machine, for nobody screens them on the way."""
        return bool(self.key) and urlsplit(self.url).hostname in LOOPBACK


@dataclass(frozen=True)
class HookedEvent:
    """An event of a client: what it is to BigMind, its name there, and which of its occurrences count."""

    kind: HookKind
    name: str
    matcher: str = ""


Entry = dict[str, Any]


@dataclass(frozen=True)
class ClientHooks:
    """The hooks of one client.

    Attributes:
        place: The person's file with hooks.
        project_place: A project's file; empty where there is none.
        entry: Returns what stands in the list of an event.
        empty: What a new file begins with.
        then: What a person has to do afterwards; empty when nothing.
        is_script: Whether the file is a program of ours, and not a list of entries.
    """

    slug: str
    events: tuple[HookedEvent, ...]
    place: Callable[[Machine], Path]
    project_place: str
    entry: Callable[[str, HookedEvent, HookConnection], Entry]
    empty: str = ""
    then: str = ""
    is_script: bool = False

    def file(self, machine: Machine, project: Path | None) -> Path:
        """Return the file in which the hooks stand: the person's, or a project's."""
        return project / self.project_place if project and self.project_place else self.place(machine)

    def entries(self, connection: HookConnection) -> list[tuple[HookedEvent, Entry]]:
        """Return each event that was consented to, with its entry."""
        wanted = [event for event in self.events if event.kind in connection.kinds]
        acts = replace(connection, program=connection.program.for_acts())
        return [(one, self.entry(self.slug, one, acts if one.kind == "act" else connection)) for one in wanted]


def bring_context(kinds: Collection[HookKind]) -> bool:
    """Whether hooks of these kinds open the session and bring what is remembered: at the start, or before a prompt."""
    return not {"start", "prompt"}.isdisjoint(kinds)


def is_ours(entry: object) -> bool:
    """Whether an entry in a list of hooks is BigMind's."""
    if not isinstance(entry, dict):
        return False
    inner = entry.get("hooks")
    if isinstance(inner, list) and inner:
        return all(map(is_ours, inner))
    texts = [entry.get(name) for name in ("command", "bash", "powershell")]
    url = entry.get("url")
    is_direct = (
        entry.get("type") == "http" and isinstance(url, str) and urlsplit(url).path.endswith("/hooks/claude-code/")
    )
    return is_direct or any(isinstance(text, str) and (PROGRAM_FILE in text or ACT_FILE in text) for text in texts)


def is_for_acts(entry: object) -> bool:
    """Whether an entry in a list of hooks is BigMind's for acts, which stands beside another one of ours."""
    return is_ours(entry) and ACT_FILE in json.dumps(entry)


def is_for_conversation(entry: object) -> bool:
    """Whether an entry in a list of hooks is BigMind's, and not for acts."""
    return is_ours(entry) and not is_for_acts(entry)


def _group(event: HookedEvent, hook: Entry) -> Entry:
    return {**({"matcher": event.matcher} if event.matcher else {}), "hooks": [hook]}


def _claude_code(slug: str, event: HookedEvent, connection: HookConnection) -> Entry:
    """Seconds, also fractions. A hook of the type `http` posts what the program would read, but never at the start."""
    if event.kind in NO_PROCESS and connection.calls_directly:
        headers = {"Authorization": f"Bearer {connection.key}"}
        url = f"{connection.url}/hooks/{slug}/"
        return _group(event, {"type": "http", "url": url, "headers": headers, "timeout": 0.3})
    return _group(event, {"type": "command", "command": connection.program.command(slug), "timeout": 5})


def _codex(slug: str, event: HookedEvent, connection: HookConnection) -> Entry:
    """Seconds. One entry of a type that Codex does not know makes it refuse the whole file: there are only commands."""
    return _group(event, {"type": "command", "command": connection.program.command(slug, syntax="cmd"), "timeout": 5})


def _gemini(slug: str, event: HookedEvent, connection: HookConnection) -> Entry:
    """Milliseconds. On Windows Gemini CLI runs commands in PowerShell."""
    command = connection.program.command(slug, syntax="powershell")
    return _group(event, {"name": "bigmind", "type": "command", "command": command, "timeout": 5000})


def _cursor(slug: str, event: HookedEvent, connection: HookConnection) -> Entry:
    """The event is not always named in what Cursor writes, so the command names it."""
    return {"command": connection.program.command(slug, event.name, syntax="powershell")}


def _copilot(slug: str, event: HookedEvent, connection: HookConnection) -> Entry:
    """Seconds. What Copilot CLI writes names no event, so the command names it."""
    commands = {
        "bash": connection.program.command(slug, event.name),
        "powershell": connection.program.command(slug, event.name, syntax="powershell"),
    }
    return {"type": "command", **commands, "timeoutSec": 5}


def _qwen(slug: str, event: HookedEvent, connection: HookConnection) -> Entry:
    """Versions differ in the unit of a time-out, and the program keeps its own: so there is none."""
    return _group(event, {"type": "command", "command": connection.program.command(slug, syntax="powershell")})


def _opencode(slug: str, event: HookedEvent, connection: HookConnection) -> Entry:
    """What its plugin runs; the plugin itself names the event."""
    return {"command": connection.program.command(slug, syntax="powershell")}


def _in_folder(variable: str, folder: str, name: str) -> Callable[[Machine], Path]:
    """Return the place of a file in a client's own folder, which a variable may move."""
    return lambda machine: machine.folder_of(variable, machine.home / folder) / name


VERSION_1 = '{\n  "version": 1\n}\n'
OF_BIGMIND_IN_CLAUDE = "mcp__.*bigmind.*"
OF_BIGMIND_IN_GEMINI = "mcp_bigmind_.*"

CLIENTS_WITH_HOOKS = (
    ClientHooks(
        "claude-code",
        (
            HookedEvent("start", "SessionStart"),
            HookedEvent("prompt", "UserPromptSubmit"),
            HookedEvent("tool", "PreToolUse", OF_BIGMIND_IN_CLAUDE),
            HookedEvent("act", "PreToolUse"),
            HookedEvent("act", "UserPromptSubmit"),
            HookedEvent("act", "PostToolUse"),
            HookedEvent("act", "PostToolUseFailure"),
            HookedEvent("stop", "Stop"),
            HookedEvent("compact", "PreCompact"),
            HookedEvent("end", "SessionEnd"),
        ),
        _in_folder("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        # The file of a project that is not shared: the command names places of this machine.
        ".claude/settings.local.json",
        _claude_code,
    ),
    ClientHooks(
        "codex",
        (
            HookedEvent("start", "SessionStart"),
            HookedEvent("prompt", "UserPromptSubmit"),
            # Codex says with each call which conversation it belongs to.
            HookedEvent("act", "PreToolUse"),
            HookedEvent("act", "UserPromptSubmit"),
            HookedEvent("act", "PostToolUse"),
            HookedEvent("stop", "Stop"),
            HookedEvent("compact", "PreCompact"),
            HookedEvent("end", "SessionEnd"),
        ),
        _in_folder("CODEX_HOME", ".codex", "hooks.json"),
        ".codex/hooks.json",
        _codex,
        then="Codex runs no hook that you have not trusted: start `codex` and choose “Review hooks” or “Trust all”.",
    ),
    ClientHooks(
        "gemini-cli",
        (
            HookedEvent("start", "SessionStart"),
            HookedEvent("prompt", "BeforeAgent"),
            HookedEvent("tool", "BeforeTool", OF_BIGMIND_IN_GEMINI),
            HookedEvent("act", "BeforeTool"),
            HookedEvent("act", "BeforeAgent"),
            HookedEvent("act", "AfterTool"),
            HookedEvent("stop", "AfterAgent"),
            # No PreCompress: Gemini CLI fires it before each request to its model.
            HookedEvent("end", "SessionEnd"),
        ),
        lambda machine: machine.home / ".gemini" / "settings.json",
        ".gemini/settings.json",
        _gemini,
    ),
    ClientHooks(
        "cursor",
        (
            HookedEvent("start", "sessionStart"),
            HookedEvent("prompt", "beforeSubmitPrompt"),
            HookedEvent("stop", "stop"),
            HookedEvent("end", "sessionEnd"),
        ),
        lambda machine: machine.home / ".cursor" / "hooks.json",
        ".cursor/hooks.json",
        _cursor,
        empty=VERSION_1,
    ),
    ClientHooks(
        "copilot",
        (
            HookedEvent("start", "sessionStart"),
            HookedEvent("prompt", "userPromptSubmitted"),
            HookedEvent("end", "sessionEnd"),
        ),
        lambda machine: machine.home / ".copilot" / "hooks" / "bigmind.json",
        ".github/hooks/bigmind.json",
        _copilot,
        empty=VERSION_1,
    ),
    ClientHooks(
        "qwen-code",
        (
            HookedEvent("start", "SessionStart"),
            HookedEvent("prompt", "UserPromptSubmit"),
            HookedEvent("stop", "Stop"),
            HookedEvent("compact", "PreCompact"),
            HookedEvent("end", "SessionEnd"),
        ),
        lambda machine: machine.home / ".qwen" / "settings.json",
        ".qwen/settings.json",
        _qwen,
    ),
    ClientHooks(
        "opencode",
        (
            HookedEvent("start", "SessionStart"),
            HookedEvent("prompt", "UserPromptSubmit"),
            HookedEvent("tool", "PreToolUse"),
            HookedEvent("stop", "Stop"),
            HookedEvent("compact", "PreCompact"),
            HookedEvent("end", "SessionEnd"),
        ),
        lambda machine: machine.dotted / "opencode" / "plugins" / "bigmind.js",
        ".opencode/plugins/bigmind.js",
        _opencode,
        is_script=True,
    ),
)


def hooks_of(slug: str) -> ClientHooks | None:
    return next((client for client in CLIENTS_WITH_HOOKS if client.slug == slug), None)


def parse_kinds(text: str) -> tuple[HookKind, ...]:
    """Return the kinds of events that a list such as `start,prompt` names, in their own order.

    Raises:
        ValueError: there is no such kind. The message names those there are.
    """
    names = {name.strip() for name in text.split(",") if name.strip()}
    if unknown := sorted(names - set(KINDS)):
        raise ValueError(f"There is no event {unknown[0]}. Known: {', '.join(KINDS)}.")
    return tuple(kind for kind in KINDS if kind in names)


def describe_hooks(client: ClientHooks, connection: HookConnection) -> list[dict[str, str]]:
    """Return what a person consents to: each event, what is read then, what comes back, and how it is sent."""
    return [
        {
            "event": event.name,
            "kind": event.kind,
            "when": about.when,
            "reads_and_sends": about.reads,
            "brings": about.brings,
            "by": "a request of the client itself" if "url" in _inner(entry) else "the hook program",
        }
        for event, entry in client.entries(connection)
        for about in KINDS_OF_HOOKS
        if about.kind == event.kind
    ]


def _inner(entry: Entry) -> Entry:
    hooks: Iterable[Entry] = entry.get("hooks", [entry])
    return next(iter(hooks))

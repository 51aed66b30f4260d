"""Traces of three clients, each with one act, made from the known mistakes in the words that hooks are told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .lessons import LESSONS

CLIENTS = ("claude-code", "codex", "gemini-cli")
FOLDER = "/work/shop"
ROUTINE = (
    *("ls -la", "git status", "git diff --stat", "cat README.md", "make lint", "npm test", "python -V", "pwd"),
    *("git add -A && git commit -m 'Round rates'", "grep -rn TODO src | head", "docker ps", "kubectl get pods"),
    *("edit src/rates.py", "read src/rates.py", "edit web/src/App.tsx", "says Why is the invoice slow?"),
    *("curl -s localhost:8000/healthz", "psql -c 'select 1'", "tool mcp__linear__get_issue", "git log -3 --oneline"),
)


@dataclass(frozen=True)
class Trace:
    """One event as a client tells its hook of it.

    Attributes:
        lesson: The number of the known mistake that the act repeats; None where it repeats none.
        act: How the benchmark writes the act.
    """

    client: str
    event: Mapping[str, Any]
    lesson: int | None
    act: str


def write_traces() -> list[Trace]:
    """Return all traces, each client with every act in turn: mistakes, what looks like them, and routine."""
    acts: list[tuple[str, int | None]] = []
    for number, lesson in enumerate(LESSONS):
        acts += [(act, number) for act in lesson.mistakes]
        acts += [(act, None) for act in lesson.harmless]
    acts += [(act, None) for act in ROUTINE]
    return [
        Trace(CLIENTS[place % 3], event_of(CLIENTS[place % 3], act, place), number, act)
        for place, (act, number) in enumerate(acts)
    ]


def event_of(client: str, act: str, number: int = 0) -> dict[str, Any]:
    """Return the event that a client tells its hook of before, or after, an act."""
    word, _, rest = act.partition(" ")
    told: dict[str, Any] = {"session_id": f"trace-{number}", "cwd": FOLDER}
    if client == "gemini-cli":
        told["timestamp"] = "2026-11-20T09:00:00Z"
    if client == "codex":
        told |= {"model": "gpt-5.5", "permission_mode": "default", "turn_id": str(number)}
    is_gemini = client == "gemini-cli"
    before = "BeforeTool" if is_gemini else "PreToolUse"
    if word == "says":
        return {**told, "hook_event_name": "BeforeAgent" if is_gemini else "UserPromptSubmit", "prompt": rest}
    if word == "failed":
        return {**told, **_failure(client, rest)}
    tool, given = _tool_of(client, word, rest) if word in {"edit", "read", "tool"} else _shell(client, act)
    return {**told, "hook_event_name": before, "tool_name": tool, "tool_input": given, "tool_use_id": f"t{number}"}


def _shell(client: str, line: str) -> tuple[str, dict[str, Any]]:
    return ("run_shell_command" if client == "gemini-cli" else "Bash"), {"command": line, "description": "Runs it"}


def _tool_of(client: str, word: str, rest: str) -> tuple[str, dict[str, Any]]:
    if word == "tool":
        name, _, more = rest.partition(" ")
        given = dict(part.split("=", 1) for part in more.split() if "=" in part)
        return (name.replace("__", "_") if client == "gemini-cli" else name), given
    if word == "read":
        return ("read_file" if client == "gemini-cli" else "Read"), {"file_path": _absolute(client, rest)}
    if client == "codex":
        patch = f"*** Begin Patch\n*** Update File: {rest}\n@@\n-a\n+b\n*** End Patch"
        return "apply_patch", {"command": patch}
    name = "replace" if client == "gemini-cli" else "Edit"
    return name, {"file_path": _absolute(client, rest), "old_string": "a", "new_string": "b"}


def _absolute(client: str, path: str) -> str:
    return path if client == "gemini-cli" or path.startswith("~") else f"{FOLDER}/{path}"


def _failure(client: str, printed: str) -> dict[str, Any]:
    name, given = _shell(client, "make test")
    responses: dict[str, Any] = {
        "claude-code": {"stdout": "", "stderr": printed, "interrupted": False},
        "codex": f"Exit code: 1\nOutput:\n{printed}",
        "gemini-cli": {"llmContent": [{"text": f"Command: make test\nOutput: {printed}\nExit Code: 1"}]},
    }
    event = "AfterTool" if client == "gemini-cli" else "PostToolUse"
    return {"hook_event_name": event, "tool_name": name, "tool_input": given, "tool_response": responses[client]}

"""Acts: what an agent is about to do, or what came of it, as hooks of clients tell; and whether triggers fire on it."""

from __future__ import annotations

import json
import os

from .patterns import (
    Arguments,
    fires_on_command,
    fires_on_error,
    fires_on_path,
    fires_on_prompt,
    fires_on_tool,
    lines_of,
    paragraphs_of,
    tool_names,
    words_of,
)
from .shell import MOST_CHARS, program_of, read_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from .shell import Command

BEFORE, PROMPT, ERROR = "before", "prompt", "error"
MOMENTS = {
    "PreToolUse": BEFORE,
    "BeforeTool": BEFORE,
    "UserPromptSubmit": PROMPT,
    "BeforeAgent": PROMPT,
    "PostToolUse": ERROR,
    "PostToolUseFailure": ERROR,
    "AfterTool": ERROR,
}
"""Events of Claude Code and of the clients that took them over, and those of Gemini CLI."""
COMMAND_KEYS = ("command", "cmd", "script")
PATH_KEYS = ("file_path", "notebook_path", "absolute_path", "path", "filePath", "filename", "destination", "new_path")
TEXT_KEYS = ("text", "output", "stderr", "stdout", "error", "message", "llmContent", "content", "formatted_output")
CHANGES = ("write", "edit", "replace", "create", "patch", "delete", "remove", "move", "rename", "insert", "append")
PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
"""How a patch of Codex names the files that it changes."""
# Programs whose words are files that they change; of the second ones only the last word is.
CHANGE_ALL = {
    "rm",
    "rmdir",
    "unlink",
    "tee",
    "touch",
    "truncate",
    "chmod",
    "chown",
    "mv",
    "shred",
    "mkdir",
    "dd",
    "del",
}
CHANGE_LAST = {"cp", "ln", "install", "rsync", "scp"}
CHANGE_IN_PLACE = {"sed", "perl", "ruby"}
CHANGE_BY_GIT = {"rm", "mv", "checkout", "restore", "apply"}
PATHS, MOST_PATH_CHARS = 50, 1_000
ARGUMENT_CHARS = 16_000


class AgentAct:
    """One act. What triggers are compared with is worked out when the first of them asks.

    Attributes:
        moment: Before a tool, before a prompt, or after an error.
        command: The line that a shell is to run; empty for another tool.
        changed: Files that the tool is about to change, as it names them.
        text: What was said, or what went wrong.
        folder: Where it happens; `root` is the folder of the project around it.
    """

    def __init__(
        self,
        moment: str,
        *,
        tool: str = "",
        command: str = "",
        changed: Sequence[str] = (),
        text: str = "",
        folder: str = "",
        root: str = "",
        given: str = "",
    ) -> None:
        self.moment, self.tool, self.command, self.text = moment, tool, command, text
        self.changed, self.folder, self.root, self.given = list(changed)[:PATHS], folder, root or folder, given
        self._known: dict[str, Any] = {}

    def fires(self, kind: str, trigger: Any, excepted: Iterable[Any] = ()) -> bool:
        """Whether a compiled trigger fires on this act. Exceptions to commands are those of the same command."""
        if kind == "command":
            return any(
                fires_on_command(trigger, one) and not any(fires_on_command(other, one) for other in excepted)
                for one in self._of("commands")
            )
        compared = self._of(kind)
        fires, what = _FIRES[kind]
        return (
            bool(compared) and fires(trigger, *what(compared)) and not any(fires(o, *what(compared)) for o in excepted)
        )

    @property
    def paths(self) -> list[str]:
        """The files that are about to be changed, below the root of the project where they lie there."""
        return [relative or absolute for relative, absolute in self._of("places")]

    def _of(self, kind: str) -> Any:
        if kind not in self._known:
            self._known[kind] = _COMPARED[kind](self)
        return self._known[kind]

    def _arguments(self) -> list[Arguments]:
        return [Arguments(command) for command in self._of("lines") if command.words]

    def _lines(self) -> list[Command]:
        return read_commands(self.command) if self.moment == BEFORE and self.command else []

    def _places(self) -> list[tuple[str, str]]:
        """Return each file with its path below the root, and from the top; followed through links as well."""
        if self.moment != BEFORE:
            return []
        named = [(path, "") for path in self.changed]
        named += [(path, command.folder) for command in self._of("lines") for path in files_of_command(command)]
        found: dict[tuple[str, str], None] = {}
        for path, folder in named[:PATHS]:
            for place in _places_of(path[:MOST_PATH_CHARS], folder, self.folder, self.root):
                found[place] = None
        return list(found)

    def _parts(self) -> tuple[list[list[str]], list[list[str]]] | None:
        places = [(relative.split("/"), absolute.strip("/").split("/")) for relative, absolute in self._of("places")]
        return ([one for one, _ in places if one != [""]], [one for _, one in places]) if places else None

    def _names(self) -> tuple[list[str], list[str]] | None:
        if self.moment != BEFORE or not self.tool:
            return None
        return tool_names(self.tool), words_of(self.given[:ARGUMENT_CHARS])

    def _paragraphs(self) -> list[list[str]]:
        return paragraphs_of(self.text) if self.moment == PROMPT else []

    def _went_wrong(self) -> list[list[str]]:
        return lines_of(self.text) if self.moment == ERROR else []


_COMPARED = {
    "lines": AgentAct._lines,
    "commands": AgentAct._arguments,
    "places": AgentAct._places,
    "path": AgentAct._parts,
    "tool": AgentAct._names,
    "prompt": AgentAct._paragraphs,
    "error": AgentAct._went_wrong,
}
_FIRES: dict[str, Any] = {
    "path": (fires_on_path, lambda parts: parts),
    "tool": (fires_on_tool, lambda names: names),
    "prompt": (fires_on_prompt, lambda paragraphs: (paragraphs,)),
    "error": (fires_on_error, lambda lines: (lines,)),
}


def act_of(report: Mapping[str, Any], folder: str = "", root: str = "", event: str = "") -> AgentAct | None:
    """Return the act that a client tells its hook of; None for an event that is none."""
    moment = MOMENTS.get(_text(report.get("hook_event_name")) or event)
    if moment is None:
        return None
    if moment == PROMPT:
        return AgentAct(PROMPT, text=_text(report.get("prompt")), folder=folder, root=root)
    tool, given = _text(report.get("tool_name")), report.get("tool_input")
    given = given if isinstance(given, dict) else {}
    command = _command_in(given)
    if moment == ERROR:
        failed = _error_in(report, tool)
        return AgentAct(ERROR, tool=tool, command=command, text=failed, folder=folder, root=root) if failed else None
    patched = _files_of_patch(command or _text(given.get("input")) or _text(given.get("patch")))
    # Codex hands a patch over as the command of a tool. It is no line for a shell.
    if patched and command.lstrip().startswith("*** Begin Patch"):
        command = ""
    changed = patched + (_paths_in(given) if any(word in tool.lower() for word in CHANGES) else [])
    words = command or json.dumps(given, ensure_ascii=False, default=str)
    return AgentAct(BEFORE, tool=tool, command=command, changed=changed, given=words, folder=folder, root=root)


def files_of_command(command: Command) -> list[str]:
    """Return the files that a command changes, as far as its words say."""
    words = [word for word in command.words if word != "--"]
    if not words:
        return command.writes
    name = program_of(words[0])
    plain = [word for word in words[1:] if not word.startswith("-")]
    if name in CHANGE_ALL:
        return command.writes + [word.removeprefix("of=") for word in plain if not word.startswith("if=")]
    if name in CHANGE_LAST:
        return command.writes + plain[-1:]
    if name in CHANGE_IN_PLACE and any(word.startswith(("-i", "-pi", "--in-place")) for word in words):
        return command.writes + plain[1:]
    if name == "git" and plain[:1] and plain[0] in CHANGE_BY_GIT:
        return command.writes + plain[1:]
    return command.writes


def _places_of(path: str, inside: str, folder: str, root: str) -> list[tuple[str, str]]:
    path = path.replace("\\", "/")
    if path.startswith("~"):
        path = os.path.expanduser(path).replace("\\", "/")
    begin = folder.replace("\\", "/")
    if inside:
        inside = os.path.expanduser(inside) if inside.startswith("~") else inside
        begin = inside if _is_absolute(inside) else f"{begin}/{inside}"
    absolute = _normal(path if _is_absolute(path) else f"{begin}/{path}")
    top = _normal(root.replace("\\", "/"))
    places = [(_below(absolute, top), absolute)]
    if os.path.isabs(absolute) and os.path.lexists(os.path.dirname(absolute)):
        real = os.path.realpath(absolute).replace("\\", "/")
        if real != absolute:
            places.append((_below(real, os.path.realpath(top).replace("\\", "/")), real))
    return places


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or path[1:3] == ":/"


def _normal(path: str) -> str:
    """Return a path without `.` and `..`, as the system would find it where no link is on the way."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in {"", "."}:
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def _below(path: str, top: str) -> str:
    """Return a path below a folder; an empty text for one elsewhere. Windows finds either spelling of a drive."""
    own, above = (path.lower(), top.lower()) if path[1:2] == ":" else (path, top)
    if not top.strip("/"):
        return path.lstrip("/")
    return path[len(top) + 1 :] if own.startswith(f"{above}/") else ""


def _command_in(given: Mapping[str, Any]) -> str:
    for key in COMMAND_KEYS:
        value = given.get(key)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return _join(value)[:MOST_CHARS]
        if isinstance(value, str) and value.strip():
            return value[:MOST_CHARS]
    return ""


def _join(words: Sequence[str]) -> str:
    """Return words as a line that a shell would take apart into the same."""
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def _paths_in(given: Mapping[str, Any]) -> list[str]:
    found = [_text(given.get(key)) for key in PATH_KEYS]
    for change in [*_list(given.get("edits")), *_list(given.get("changes")), *_list(given.get("files"))]:
        found += [_text(change.get(key)) for key in PATH_KEYS] if isinstance(change, dict) else [_text(change)]
    return [path for path in dict.fromkeys(found) if path]


def _files_of_patch(patch: str) -> list[str]:
    if "*** " not in patch:
        return []
    lines = (line.strip() for line in patch.splitlines())
    return [line[len(mark) :].strip() for line in lines for mark in PATCHED if line.startswith(mark)]


def _error_in(report: Mapping[str, Any], tool: str) -> str:
    """Return what a tool said when it failed; an empty text where it did not, as far as the client tells.

    A command that only prints the words of an error has not failed. Codex does not say how one ended: then what it
    printed is looked at. What was read from a file or found by a search is no error.
    """
    named = _text(report.get("error"))
    if named or _text(report.get("hook_event_name")) == "PostToolUseFailure":
        return named or "\n".join(_texts_in(report.get("tool_response")))
    response = report.get("tool_response")
    if "bash" not in tool_names(tool) and not _says_it_failed(response):
        return ""
    if isinstance(response, dict) and _is_success(response):
        return ""
    return "\n".join(_texts_in(response))


def _says_it_failed(response: Any) -> bool:
    return isinstance(response, dict) and bool(
        response.get("isError") or response.get("is_error") or response.get("error")
    )


def _is_success(response: Mapping[str, Any]) -> bool:
    codes = [response.get(name) for name in ("exit_code", "exitCode", "code", "returncode")]
    metadata = response.get("metadata")
    codes += [metadata.get("exit_code")] if isinstance(metadata, dict) else []
    if 0 in [code for code in codes if isinstance(code, int) and not isinstance(code, bool)]:
        return True
    # Claude Code tells what failed by an event of its own; in this one all that a command printed is its output.
    if response.get("interrupted") is False and response.get("stderr") == "":
        return True
    # Gemini CLI names an exit code that is not 0 after the output, and at last the processes.
    lines = "\n".join(_texts_in(response.get("llmContent"))).splitlines()
    is_ended = any(line.startswith("Process Group PGID:") for line in lines)
    return is_ended and not any(line.startswith(("Exit Code:", "Error:", "Signal:")) for line in lines)


def _texts_in(value: Any, depth: int = 0) -> list[str]:
    """Return the texts of a value: of an object those that are known to hold what was printed, else all."""
    if isinstance(value, str):
        return [value]
    if depth > 4:
        return []
    if isinstance(value, dict):
        known = [value[key] for key in TEXT_KEYS if key in value]
        return [text for one in (known or list(value.values())) for text in _texts_in(one, depth + 1)]
    return [text for one in _list(value) for text in _texts_in(one, depth + 1)]


def _list(value: Any) -> list[Any]:
    return value[:200] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

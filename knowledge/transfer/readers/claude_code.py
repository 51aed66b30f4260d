"""Claude Code: the records of its conversations, `~/.claude/projects/<folder>/<session>.jsonl`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from bigmind.privacy.screening import drop_private
from knowledge.parsers.archives import Bundle

from .json_rows import lines_of, listing, mapping
from .memory_drafts import Row, Unread
from .transcripts import (
    AgentAnswer,
    Event,
    ToolCall,
    ToolResult,
    Transcript,
    UserPrompt,
    at,
    first_line_of,
    objects_in,
    text_of_blocks,
)

KINDS = {"user", "assistant", "summary", "system", "attachment", "queue-operation", "file-history-snapshot"}
CHANGES = {"Edit", "MultiEdit", "Write", "NotebookEdit"}
NOT_TYPED = re.compile(r"\s*<(command-|local-command|bash-|system-reminder|task-notification)|Caveat: ")
"""How texts begin that stand in the person's place and were not typed by them."""


def looks_like(bundle: Bundle) -> bool:
    """Whether a file has lines as Claude Code writes them."""
    return any(_is_ours(bundle, name) for name in _records(bundle))


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a session for each conversation. What a fork repeats of another conversation stays with that one."""
    seen: set[str] = set()
    for name in _records(bundle):
        if _is_ours(bundle, name):
            yield from _conversation(bundle, name, seen)


def _records(bundle: Bundle) -> list[str]:
    """The records of conversations; those of sub-agents lie in a folder of their own."""
    return [name for name in bundle.names() if name.endswith(".jsonl") and "subagents" not in PurePosixPath(name).parts]


def _is_ours(bundle: Bundle, name: str) -> bool:
    first = first_line_of(bundle, name)
    return str(first.get("type")) in KINDS and "payload" not in first


def _conversation(bundle: Bundle, name: str, seen: set[str]) -> Iterator[Row]:
    transcript = Transcript(name, "Claude Code", PurePosixPath(name).stem)
    with bundle.open(name) as file:
        for line in objects_in(lines_of(file, name), name):
            if isinstance(line, Unread):
                yield line
                continue
            id = str(line.get("uuid") or "")
            # What a sub-agent did may also stand in the record of the conversation that it worked for.
            if line.get("isSidechain") or id in seen:
                continue
            seen.update([id] if id else [])
            _note_place(transcript, line)
            transcript.events += _events(transcript, line)
    yield from transcript.session()


def _note_place(transcript: Transcript, line: Mapping[str, Any]) -> None:
    """Note where the conversation was: the first folder counts, for agents change it while they work."""
    transcript.folder = transcript.folder or str(line.get("cwd") or "")
    transcript.branch = transcript.branch or str(line.get("gitBranch") or "")
    if line.get("type") == "summary":
        transcript.title = str(line.get("summary") or "")


def _events(transcript: Transcript, line: Mapping[str, Any]) -> Iterator[Event]:
    message, moment = mapping(line.get("message")), at(line)
    content = message.get("content")
    if line.get("type") == "assistant":
        if text := drop_private(text_of_blocks(content, "text"))[0].strip():
            yield AgentAnswer(text, moment)
        yield from (_call(block, line) for block in _blocks(content, "tool_use"))
    elif line.get("isCompactSummary"):
        transcript.summary = text_of_blocks(content, "text")
    elif line.get("type") == "user" and not line.get("isMeta"):
        text = drop_private(text_of_blocks(content, "text"))[0].strip()
        if text and not NOT_TYPED.match(text):
            yield UserPrompt(text, moment)
        for block in _blocks(content, "tool_result"):
            said = text_of_blocks(block.get("content"), "text")
            yield ToolResult(str(block.get("tool_use_id")), said, block.get("is_error") is True, moment)


def _blocks(content: Any, kind: str) -> list[Mapping[str, Any]]:
    return [block for block in listing(content) if isinstance(block, Mapping) and block.get("type") == kind]


def _call(block: Mapping[str, Any], line: Mapping[str, Any]) -> ToolCall:
    name, given = str(block.get("name")), mapping(block.get("input"))
    path = given.get("file_path") or given.get("notebook_path")
    files = (str(path),) if path and name in CHANGES else ()
    command = given.get("command") if name == "Bash" else ""
    return ToolCall(str(block.get("id")), name, at(line), str(command or ""), files)


def usual_folder(home: Path, variables: Mapping[str, str]) -> Path:
    """Return where Claude Code keeps its records."""
    return Path(variables.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"

"""Gemini CLI: the records of its conversations, `~/.gemini/tmp/<project>/chats/session-….jsonl`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from bigmind.privacy.screening import drop_private
from knowledge.parsers.archives import Bundle

from .json_rows import SIGNS_WITHIN, document_in, lines_of, listing, mapping, start_of
from .memory_drafts import Row, Unread
from .transcripts import (
    AgentAnswer,
    Event,
    ToolCall,
    ToolResult,
    Transcript,
    UserPrompt,
    at,
    exit_code,
    objects_in,
    text_of_blocks,
)

CHANGES = {"replace", "write_file", "edit"}
HASH = re.compile(r"[0-9a-f]{64}")
RECORD = re.compile(r"session-[^/]*\.jsonl?")


def looks_like(bundle: Bundle) -> bool:
    """Whether a file begins as Gemini CLI's records do."""
    return any(_is_ours(bundle, name) for name in _records(bundle))


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a session for each conversation."""
    for name in _records(bundle):
        if _is_ours(bundle, name):
            yield from _conversation(bundle, name)


def usual_folder(home: Path, variables: Mapping[str, str]) -> Path:
    """Return where Gemini CLI keeps its records."""
    return Path(variables.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp"


def _records(bundle: Bundle) -> list[str]:
    return [name for name in bundle.names() if RECORD.fullmatch(PurePosixPath(name).name)]


def _is_ours(bundle: Bundle, name: str) -> bool:
    return '"projectHash"' in start_of(bundle, name, size=SIGNS_WITHIN)


def _lines(bundle: Bundle, name: str) -> Iterator[Mapping[str, Any] | Unread]:
    """The head of a record and its messages. Earlier versions wrote them as one document."""
    with bundle.open(name) as file:
        if name.endswith(".jsonl"):
            yield from objects_in(lines_of(file, name), name)
            return
        document = mapping(document_in(file, name))
        yield document
        yield from filter(mapping, listing(document.get("messages")))


def _conversation(bundle: Bundle, name: str) -> Iterator[Row]:
    transcript = Transcript(name, "Gemini CLI", "")
    messages: dict[str, Mapping[str, Any]] = {}
    for line in _lines(bundle, name):
        if isinstance(line, Unread):
            yield line
        elif "sessionId" in line:
            transcript.id = str(line["sessionId"])
            transcript.project = _project(name)
            transcript.is_of_sub_agent = line.get("kind") == "subagent"
        elif "id" in line:  # A message is written again each time there is more of it: the last one counts.
            messages[str(line["id"])] = line
    transcript.events = [event for message in messages.values() for event in _events(message)]
    yield from transcript.session()


def _project(name: str) -> str:
    """The project, after the folder of the record: `<project>/chats/session-….jsonl`. A hash names none."""
    parts = PurePosixPath(name).parts
    folder = parts[-3] if len(parts) > 2 and parts[-2] == "chats" else ""
    return "" if HASH.fullmatch(folder) else folder[:100]


def _events(message: Mapping[str, Any]) -> Iterator[Event]:
    text = drop_private(text_of_blocks(message.get("content")))[0].strip()
    if message.get("type") == "user" and text:
        yield UserPrompt(text, at(message))
    elif message.get("type") == "gemini":
        for call in map(mapping, listing(message.get("toolCalls"))):
            yield _call(call, message)
            yield _result(call, message)
        if text:
            yield AgentAnswer(text, at(message))


def _call(call: Mapping[str, Any], message: Mapping[str, Any]) -> ToolCall:
    name, given = str(call.get("name")), mapping(call.get("args"))
    files = (str(given["file_path"]),) if name in CHANGES and given.get("file_path") else ()
    command = str(given.get("command") or "") if name == "run_shell_command" else ""
    return ToolCall(str(call.get("id")), name, at(message), command, files)


def _result(call: Mapping[str, Any], message: Mapping[str, Any]) -> ToolResult:
    answers = [
        mapping(mapping(mapping(part).get("functionResponse")).get("response")) for part in listing(call.get("result"))
    ]
    text = "\n".join(str(answer.get("output") or answer.get("error") or "") for answer in answers)
    failed = call.get("status") == "error" or bool(exit_code(text))
    return ToolResult(str(call.get("id")), text, failed, at(message))

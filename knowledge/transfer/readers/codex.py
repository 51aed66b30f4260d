"""Codex: the records of its conversations, `~/.codex/sessions/<date>/rollout-….jsonl`."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bigmind.privacy.screening import drop_private
from knowledge.parsers.archives import Bundle

from .json_rows import lines_of, mapping
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
    first_line_of,
    objects_in,
    text_of_blocks,
)

CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
RESULTS = {"function_call_output", "custom_tool_call_output"}
PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,1000})$", re.MULTILINE)
SUB_AGENT = "subagent"


def looks_like(bundle: Bundle) -> bool:
    """Whether a file begins as Codex' records do."""
    return any(_is_ours(bundle, name) for name in _records(bundle))


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a session for each conversation that a person had."""
    for name in _records(bundle):
        if _is_ours(bundle, name):
            yield from _conversation(bundle, name)


def usual_folder(home: Path, variables: Mapping[str, str]) -> Path:
    """Return where Codex keeps its records."""
    return Path(variables.get("CODEX_HOME") or home / ".codex") / "sessions"


def _records(bundle: Bundle) -> list[str]:
    return [name for name in bundle.names() if name.endswith(".jsonl")]


def _is_ours(bundle: Bundle, name: str) -> bool:
    return first_line_of(bundle, name).get("type") == "session_meta"


def _conversation(bundle: Bundle, name: str) -> Iterator[Row]:
    transcript = Transcript(name, "Codex", "")
    messages: list[Event] = []
    typed: list[UserPrompt] = []
    with bundle.open(name) as file:
        for line in objects_in(lines_of(file, name), name):
            if isinstance(line, Unread):
                yield line
                continue
            payload = mapping(line.get("payload"))
            if line.get("type") == "session_meta":
                _note_conversation(transcript, payload)
            elif line.get("type") == "response_item":
                transcript.events += _events(payload, line)
                messages += _read_messages(payload, line)
            elif line.get("type") == "event_msg" and (prompt := _read_typed(payload, line)):
                typed.append(prompt)
                transcript.events.append(prompt)
    if not typed:  # Records of earlier versions have no events: there the prompts stand among what the model received.
        transcript.events = sorted([*messages, *transcript.events], key=lambda event: str(event.at))
    yield from transcript.session()


def _note_conversation(transcript: Transcript, payload: Mapping[str, Any]) -> None:
    if transcript.id:  # A fork repeats the head of the one that it comes from.
        return
    transcript.id = str(payload.get("id") or payload.get("session_id") or "")
    transcript.folder = str(payload.get("cwd") or "")
    transcript.branch = str(mapping(payload.get("git")).get("branch") or "")
    transcript.is_of_sub_agent = bool(
        payload.get("parent_thread_id")
        or payload.get("thread_source") == SUB_AGENT
        or SUB_AGENT in mapping(payload.get("source"))
    )


def _read_typed(payload: Mapping[str, Any], line: Mapping[str, Any]) -> UserPrompt | None:
    """What the person typed: `item_completed` tells it, in earlier versions `user_message`."""
    item = mapping(payload.get("item"))
    if payload.get("type") == "item_completed" and item.get("type") == "UserMessage":
        text = text_of_blocks(item.get("content"))
    elif payload.get("type") == "user_message":
        text = str(payload.get("message") or "")
    else:
        return None
    text = drop_private(text)[0].strip()
    return UserPrompt(text, at(line)) if text else None


def _read_messages(payload: Mapping[str, Any], line: Mapping[str, Any]) -> Iterator[Event]:
    if payload.get("type") == "message" and payload.get("role") == "user":
        text = drop_private(text_of_blocks(payload.get("content"), "input_text"))[0].strip()
        if text and not text.startswith("<"):  # `<environment_context>`, `<user_instructions>`, `<hook_prompt …>`
            yield UserPrompt(text, at(line))


def _events(payload: Mapping[str, Any], line: Mapping[str, Any]) -> Iterator[Event]:
    kind = str(payload.get("type"))
    if kind == "message" and payload.get("role") == "assistant":
        if text := drop_private(text_of_blocks(payload.get("content"), "output_text"))[0].strip():
            yield AgentAnswer(text, at(line))
    elif kind in CALLS:
        yield _call(payload, payload.get(CALLS[kind]), line)
    elif kind in RESULTS:
        text, code = _output(payload.get("output"))
        yield ToolResult(str(payload.get("call_id")), text, bool(code), at(line))


def _call(payload: Mapping[str, Any], given: Any, line: Mapping[str, Any]) -> ToolCall:
    """A call of a tool. Its arguments are a JSON text, but for tools that take a text as it is."""
    arguments = mapping(_document(given))
    command = arguments.get("command") or arguments.get("cmd") or ""
    words = [str(word) for word in command] if isinstance(command, list) else [str(command)]
    # Codex runs a command by a shell, `bash -lc "make test"`: what was run is the third word.
    if words[:1] in (["bash"], ["sh"], ["zsh"]) and len(words) == 3:
        words = words[2:]
    plain = " ".join(words)
    patch = given if isinstance(given, str) and payload.get("name") == "apply_patch" else plain
    files = tuple(PATCHED.findall(patch))
    name = ".".join(str(payload[key]) for key in ("namespace", "name") if payload.get(key))
    return ToolCall(str(payload.get("call_id")), name, at(line), "" if files else plain, files)


def _output(output: Any) -> tuple[str, int | None]:
    """What a command printed, and its exit code: in earlier versions both stand in a JSON text."""
    document = mapping(_document(output))
    if "output" in document:
        code = mapping(document.get("metadata")).get("exit_code")
        return str(document["output"]), code if isinstance(code, int) else None
    text = output if isinstance(output, str) else text_of_blocks(output)
    return text, exit_code(text)


def _document(text: Any) -> Any:
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None

"""Records of conversations as Claude Code 2.1.197, Codex 0.169.0 and Gemini CLI 0.61.0 write them, made small."""

import json
from pathlib import Path
from typing import Any

ERROR = "E   ModuleNotFoundError: No module named 'freight_rates'\n1 error in 0.12s"
FIXED = "The package was missing from pyproject.toml; it is declared now, and the tests pass."
FIRST, SECOND = "Why do the rate tests fail?", "Never use the staging database for tests."


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    """Write a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _at(minute: int) -> str:
    return f"2026-05-04T10:{minute:02}:00.000Z"


def claude_code(folder: Path) -> Path:
    """Two prompts, a command that fails, an edit, the command that succeeds; a sub-agent; what nobody typed."""
    common = {"cwd": "/home/ada/freight-api", "sessionId": "5e551011-aaaa", "version": "2.1.197", "gitBranch": "main"}

    def line(minute: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
        message = {"role": kind, "content": content}
        return {"type": kind, "message": message, "uuid": f"u{minute}", "timestamp": _at(minute), **common, **more}

    def call(minute: int, id: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
        return line(minute, "assistant", [{"type": "tool_use", "id": id, "name": name, "input": given}])

    def result(minute: int, id: str, text: str, *, is_error: bool = False) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        block = {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error}
        return line(minute, "user", [block])

    lines = [
        {"type": "summary", "summary": "Mend the rate tests", "leafUuid": "x"},
        line(0, "user", "<command-name>/clear</command-name>"),
        line(1, "user", FIRST),
        line(2, "assistant", [{"type": "thinking", "thinking": "hidden"}, {"type": "text", "text": "Let me look."}]),
        call(3, "t1", "Bash", {"command": "pytest tests/rates -x"}),
        result(4, "t1", ERROR, is_error=True),
        call(5, "t2", "Edit", {"file_path": "/home/ada/freight-api/pyproject.toml", "old_string": "a"}),
        result(6, "t2", "The file has been updated. SECRET OUTPUT OF A TOOL"),
        call(7, "t3", "Bash", {"command": "pytest tests/rates"}),
        result(8, "t3", "4 passed"),
        line(9, "assistant", [{"type": "text", "text": FIXED}]),
        line(10, "user", f"{SECOND} <private>My sister is called Bo.</private>"),
        line(11, "assistant", [{"type": "text", "text": "Understood."}]),
        line(12, "user", "Look into it", isSidechain=True),
    ]
    write_lines(folder / "-home-ada-freight-api" / "5e551011-aaaa.jsonl", lines)
    fork = [line | {"sessionId": "f04c"} for line in lines]
    write_lines(folder / "-home-ada-freight-api" / "f04c.jsonl", fork)
    sub_agent = [line(13, "user", "Find it", isSidechain=True, agentId="a1")]
    write_lines(folder / "-home-ada-freight-api" / "5e551011-aaaa" / "subagents" / "agent-a1.jsonl", sub_agent)
    return folder


def codex(folder: Path) -> Path:
    """The same conversation as Codex keeps it, beside a sub-agent's."""
    meta = {"id": "thread-1", "session_id": "thread-1", "cwd": "/home/ada/freight-api", "git": {"branch": "main"}}

    def line(minute: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": _at(minute), "ordinal": minute, "type": kind, "payload": payload}

    def prompt(minute: int, text: str) -> dict[str, Any]:
        item = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
        return line(minute, "event_msg", {"type": "item_completed", "item": item})

    def call(minute: int, id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        said = {"type": "function_call", "name": name, "call_id": id, "arguments": json.dumps(arguments)}
        return line(minute, "response_item", said)

    def result(minute: int, id: str, output: str) -> dict[str, Any]:
        return line(minute, "response_item", {"type": "function_call_output", "call_id": id, "output": output})

    def answer(minute: int, text: str) -> dict[str, Any]:
        content = [{"type": "output_text", "text": text}]
        return line(minute, "response_item", {"type": "message", "role": "assistant", "content": content})

    environment = [{"type": "input_text", "text": "<environment_context>…</environment_context>"}]
    patch = "*** Begin Patch\n*** Update File: pyproject.toml\n+freight-rates\n*** End Patch"
    lines = [
        line(0, "session_meta", meta),
        line(1, "response_item", {"type": "message", "role": "user", "content": environment}),
        prompt(1, FIRST),
        call(3, "c1", "shell", {"command": ["bash", "-lc", "pytest tests/rates -x"]}),
        result(4, "c1", f"Exit code: 1\nWall time: 0.2 seconds\nOutput:\n{ERROR}"),
        line(5, "response_item", {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c2", "input": patch}),
        line(6, "response_item", {"type": "custom_tool_call_output", "call_id": "c2", "output": "Done!"}),
        call(7, "c3", "exec_command", {"cmd": "pytest tests/rates"}),
        result(8, "c3", "Wall time: 1 seconds\nProcess exited with code 0\nOutput:\n4 passed"),
        answer(9, FIXED),
        prompt(10, f"{SECOND} <private>My sister is called Bo.</private>"),
        answer(11, "Understood."),
    ]
    write_lines(folder / "2026" / "05" / "04" / "rollout-2026-05-04T10-00-00-thread-1.jsonl", lines)
    sub_agent = [
        line(0, "session_meta", {"id": "thread-2", "session_id": "thread-1", "parent_thread_id": "thread-1"}),
        prompt(1, "Find it"),
    ]
    write_lines(folder / "2026" / "05" / "04" / "rollout-2026-05-04T10-05-00-thread-2.jsonl", sub_agent)
    return folder


def gemini_cli(folder: Path) -> Path:
    """The same conversation as Gemini CLI keeps it: messages are written again as they grow."""

    def prompt(minute: int, text: str) -> dict[str, Any]:
        return {"id": f"m{minute}", "timestamp": _at(minute), "type": "user", "content": [{"text": text}]}

    def call(id: str, name: str, given: dict[str, Any], output: str) -> dict[str, Any]:
        result = [{"functionResponse": {"response": {"output": output}}}]
        return {"id": id, "name": name, "args": given, "result": result, "status": "success"}

    def answer(minute: int, text: str, *calls: dict[str, Any]) -> dict[str, Any]:
        said = {"id": f"m{minute}", "timestamp": _at(minute), "type": "gemini", "content": text}
        return said | ({"toolCalls": list(calls)} if calls else {})

    failed = call("g1", "run_shell_command", {"command": "pytest tests/rates -x"}, f"Output: {ERROR}\nExit Code: 1")
    edited = call("g2", "replace", {"file_path": "/home/ada/freight-api/pyproject.toml"}, "Done")
    passed = call("g3", "run_shell_command", {"command": "pytest tests/rates"}, "Output: 4 passed\nExit Code: 0")
    head = {"sessionId": "g-1", "projectHash": "ab" * 32, "startTime": _at(0), "lastUpdated": _at(11), "kind": "main"}
    lines = [
        head,
        {"$set": {"messages": [prompt(0, "This is the Gemini CLI. Context.")]}},
        prompt(1, FIRST),
        answer(3, ""),
        answer(3, "", failed, edited, passed),
        answer(9, FIXED),
        prompt(10, f"{SECOND} <private>My sister is called Bo.</private>"),
        answer(11, "Understood."),
    ]
    write_lines(folder / "freight-api" / "chats" / "session-2026-05-04T10-00-g1.jsonl", lines)
    return folder

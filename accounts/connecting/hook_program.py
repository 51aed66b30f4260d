"""The hook program: sends BigMind the events of a client, and gives the client BigMind's answers.

A client starts it at the start, before a prompt, when the agent stops, before compaction and at the end. So it uses
only the standard library and imports little. `bigmind connect` copies it to `BIGMIND_HOME/hooks`, and beside it the
modules that screen texts for secrets.

Whatever happens it prints one JSON object and exits 0: exit 2 makes clients refuse a prompt, and text on standard
output is shown to the model. Events that cannot be delivered wait in a spool and are sent later.
"""

from __future__ import annotations

import _thread
import json
import os
import re
import socket
import sys
import time
from contextlib import suppress

# Importing `typing` would cost a tenth of the time that starting takes.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Json = dict[str, Any]
    Said = Iterator[tuple[str, str, str]]

BEGAN = time.monotonic()

KINDS = {
    "SessionStart": "start",
    "sessionStart": "start",
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "userPromptSubmitted": "prompt",
    "beforeSubmitPrompt": "prompt",
    "PreToolUse": "tool",
    "BeforeTool": "tool",
    "Stop": "stop",
    "AfterAgent": "stop",
    "stop": "stop",
    "PreCompact": "compact",
    "SessionEnd": "end",
    "sessionEnd": "end",
    "Ping": "ping",
    "Triggers": "triggers",
}
"""The kind of event that BigMind sees. `Ping` comes from `bigmind doctor`, `Triggers` from the program for acts."""

# From the start of this file on; a prompt waits for its slowest hook in full. Starting Python takes 20 to 30 ms more.
SECONDS = {
    "prompt": 0.25,
    "tool": 0.25,
    "start": 1.9,
    "stop": 0.9,
    "compact": 0.9,
    "end": 0.9,
    "ping": 2.0,
    "triggers": 4.0,
}
FLUSH_SECONDS = {"start": 0.5, "stop": 0.3, "compact": 0.3, "end": 0.9}
CAPTURES = {"stop", "compact", "end"}
KEPT = {"start", "stop", "compact", "end"}
"""What waits in the spool. A prompt is in the messages of the next capture, and nobody wants its recall later."""
SAYS = {"start", "prompt"}
"""Events whose answer the model reads: with them it learns that its memory is away, and that it is back."""
FLAT_ANSWERS = {"copilot": "additionalContext", "cursor": "additional_context"}
"""Clients that read what a hook brings at the top of its answer."""
AWAY = (
    "BigMind, the persistent memory, is away: nothing is recalled, and calls of its tools fail. What its hooks see is "
    "kept on this machine and sent once it is back. Tell the user once."
)
LATE = "BigMind did not answer in time, so nothing was recalled for this prompt. memory_recall asks again."
REFUSED = "BigMind took nothing from a hook and recalled nothing: {detail}"
BACK = "BigMind is back. It was away from {since} on, and recalled nothing meanwhile: memory_recall asks again."
KEPT_CALL = "KeptCall"
"""The event by which a call comes to BigMind that found it away."""
REFUSED_FOR_GOOD = {400, 413, 422}
"""Answers that the same event would get again. After another one (the key, BigMind itself) it waits in the spool."""

SENT_KEYS = {
    "session_id", "sessionId", "conversation_id", "hook_event_name", "cwd", "source", "reason", "trigger", "prompt",
    "initialPrompt", "prompt_id", "turn_id", "generation_id", "model", "tool_name", "tool_use_id", "stop_hook_active",
    "last_assistant_message", "prompt_response", "agent_id", "agent_type", "timestamp",
}  # fmt: skip
EXCHANGES = {"stop", "end", "triggers"}
"""Events at which the notes of the program for acts are sent to BigMind, and the current triggers fetched. A start
fetches them by a request of its own, so that the context arrives however large they are."""
FORKS = {"fork", "resume"}
"""Sources of a start at which an earlier conversation may go on under a new id."""
TEXT_CHARS = 4_000
SHORTEST_SECRET = 5
MESSAGES, CLOSING_CHARS = 40, 64_000
INPUT_BYTES = 4 * 1024 * 1024
TOOL_INPUT_CHARS = 32_000
REPLY_BYTES, TOLD_BYTES = 4 * 1024 * 1024, 128 * 1024
"""What BigMind may answer, triggers included, and what the client may be told of it."""
ACTS = 300
HEAD_BYTES, TAIL_BYTES = 64 * 1024, 1024 * 1024
SIBLINGS = 20
SPOOL_FILES, SPOOL_BYTES = 200, 4 * 1024 * 1024
STATE_FILES = 200
FILES, COMMITS = 50, 20

# Gemini CLI writes what hooks brought into the prompts that it shows to hooks and keeps in its transcripts.
BROUGHT = re.compile(r"<(/?)\s{0,4}hook_context\b[^<>]{0,80}>", re.IGNORECASE)
BIGMIND_TOOL = re.compile(r"mcp_{1,2}(?:[\w-]{0,60}_)?bigmind_{1,2}")
# Gemini CLI writes “Output: ” before what a command printed.
COMMIT = re.compile(r"(?m)^(?:Output: )?\[[^\]\s]{1,100}(?: \([a-z-]{1,20}\))? ([0-9a-f]{7,40})\] ([^\n]{1,200})")
PATCHED_FILE = re.compile(r"\*\*\* (?:Add|Update|Delete) File: ([^\n\"\\]{1,400})")
REMOTE = re.compile(
    r'(?m)^\[remote "origin"\]\s*?\n(?:[ \t]+(?!url)[^\n]*\n){0,20}[ \t]+url[ \t]*=[ \t]*([^\n]{1,500})'
)


# ── What leaves this machine ──────────────────────────────────────────────────────────────────────────────────────────


def drop_between(marks: re.Pattern[str], text: str) -> str:
    """Return a text without what stands between two marks; where the second is missing, without all the rest.

    Marks may stand within each other. The pattern's first group is empty in the first mark of a pair.
    """
    kept, depth, done = [], 0, 0
    for mark in marks.finditer(text):
        if not mark[1]:
            if not depth:
                kept.append(text[done : mark.start()])
            depth += 1
        elif depth:
            depth -= 1
            done = mark.end()
    return "".join(kept if depth else [*kept, text[done:]])


def screening() -> Any:
    """Return the modules by which BigMind itself finds secrets and private passages.

    Raises:
        ImportError: the copy of them is missing. Then nothing is sent.
    """
    folder = os.path.dirname(os.path.abspath(__file__))
    if os.path.isdir(os.path.join(folder, "bigmind_screening")):
        sys.path[:0] = [] if folder in sys.path else [folder]
        return __import__("bigmind_screening")
    import bigmind.privacy.screening as modules  # where the tests run it

    return modules


def clean(text: str, most: int) -> str:
    """Return the part of a text that may leave the machine: nothing private, no secrets, nothing that hooks added."""
    left = drop_between(BROUGHT, text)
    # The modules take longer to load than all the rest, so only texts that may need them do.
    left = screening().drop_private(left)[0] if "private" in left.lower() else left
    text = left if left == text else left.strip()
    # A secret that begins within the limit is seen whole. What is shorter than any secret need not be looked at.
    text = screening().redact(text[: most + 600]) if len(text) > SHORTEST_SECRET else text
    return text if len(text) <= most else f"{text[: most - 1]}…"


def choose(told: Json, name: str) -> Json:
    """Return the part of the client's standard input that may be sent, under the name of its event."""
    sent = {key: value for key, value in told.items() if key in SENT_KEYS and isinstance(value, str | int | float)}
    event: Json = {key: clean(value, TEXT_CHARS) if isinstance(value, str) else value for key, value in sent.items()}
    event["hook_event_name"] = name
    if name == "BeforeTool":
        event |= _read_call(told)
    return event


def _read_call(told: Json) -> Json:
    """Return the arguments of a call to BigMind, which are on their way there: the conversation is added to them.

    They are sent whole or not at all, for the client calls the tool with what comes back.
    """
    tool, given = told.get("tool_name"), told.get("tool_input")
    if not isinstance(tool, str) or not BIGMIND_TOOL.match(tool) or not isinstance(given, dict):
        return {}
    if len(json.dumps(given, ensure_ascii=False)) > TOOL_INPUT_CHARS:
        return {}
    names = {
        name: value for name, value in _dict(told.get("mcp_context")).items() if name in {"server_name", "tool_name"}
    }
    return {"tool_input": given, **({"mcp_context": names} if names else {})}


# ── Where the client works ────────────────────────────────────────────────────────────────────────────────────────────


def find_repository(folder: str) -> tuple[str, str, str]:
    """Return the name of the repository that a folder belongs to, its branch, and its root; empty texts where none is.

    A name that is declared comes first: in `BIGMIND_PROJECT`, or in the first line of a file `.bigmind` in the folder
    or one above. Else it is the name of `origin`, else that of the folder with git's common directory, which work
    trees share.
    """
    declared = os.environ.get("BIGMIND_PROJECT", "").strip()
    for root in _with_parents(folder):
        declared = declared or _project_name(os.path.join(root, ".bigmind"))
        own = _git_folder(os.path.join(root, ".git"))
        if own:
            common = os.path.normpath(os.path.join(own, _first_line(os.path.join(own, "commondir")) or "."))
            return declared or _origin(common) or _folder_name(common, root), _branch(own), root
    return declared, "", ""


def _with_parents(folder: str) -> Iterator[str]:
    folder = os.path.abspath(folder)
    for _ in range(64):
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _git_folder(place: str) -> str:
    """Return the folder that git keeps of a work tree: `.git` itself, or the one that a file `.git` names."""
    if os.path.isdir(place):
        return place
    line = _first_line(place)
    named = line[len("gitdir:") :].strip() if line.startswith("gitdir:") else ""
    return os.path.normpath(os.path.join(os.path.dirname(place), named)) if named else ""


def _first_line(path: str, most: int = 4096) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(most).strip()
    except OSError:
        return ""


def _project_name(path: str) -> str:
    """Return the project that a file `.bigmind` declares: its first line, also as `project: name`."""
    line = _first_line(path) if os.path.isfile(path) else ""
    key, colon, value = line.partition(":")
    return (value if colon and key.strip() == "project" else line).strip()[:100]


def _origin(common: str) -> str:
    try:
        with open(os.path.join(common, "config"), encoding="utf-8", errors="replace") as file:
            found = REMOTE.search(file.read(HEAD_BYTES).replace("\r\n", "\n"))
    except OSError:
        return ""
    return _last_segment(found[1]) if found else ""


def _last_segment(address: str) -> str:
    return re.split(r"[/:\\]", address.strip().rstrip("/\\"))[-1].removesuffix(".git")[:100]


def _folder_name(common: str, root: str) -> str:
    name = os.path.basename(common)
    if name == ".git":
        return os.path.basename(os.path.dirname(common))
    # A bare repository with work trees is named like it; a submodule like its own folder.
    is_bare = f"{os.sep}.git{os.sep}" not in common
    return name.removesuffix(".git") if is_bare else os.path.basename(root)


def _branch(own: str) -> str:
    head = _first_line(os.path.join(own, "HEAD"))
    return head.removeprefix("ref:").strip().removeprefix("refs/heads/")[:200] if head.startswith("ref:") else head[:12]


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of the folders or lies below one of them, links followed."""
    real = os.path.normcase(os.path.realpath(path))
    tops = [os.path.normcase(os.path.realpath(os.path.expanduser(folder))) for folder in folders if folder]
    return any(real == top or real.startswith(top.rstrip(os.sep) + os.sep) for top in tops)


# ── What the client's own record says ─────────────────────────────────────────────────────────────────────────────────


def transcript_roots(client: str) -> list[str]:
    """Return the folders in which a client keeps its transcripts: nothing elsewhere is read."""
    variable, name = {
        "claude-code": ("CLAUDE_CONFIG_DIR", ".claude"),
        "codex": ("CODEX_HOME", ".codex"),
        "gemini-cli": ("GEMINI_CLI_HOME", ".gemini"),
        "qwen-code": ("QWEN_HOME", ".qwen"),
    }.get(client, ("", ""))
    own = os.path.join(os.path.expanduser("~"), name) if name else ""
    return [root for root in (os.environ.get(variable, "") if variable else "", own) if root]


def read_tail(path: str, since: int) -> tuple[list[Json], int]:
    """Return the lines of a transcript after a place, at most a megabyte, and the place where the next read goes on."""
    size = os.path.getsize(path)
    start = max(since if since <= size else 0, size - TAIL_BYTES)
    with open(path, "rb") as file:
        file.seek(start)
        raw = file.read(TAIL_BYTES)
    end = raw.rfind(b"\n") + 1
    # The read began in the middle of a line, unless it is where the last one ended.
    first = 0 if start in {0, since} else raw.find(b"\n") + 1
    return _objects(raw[first:end]), start + end


def read_head(path: str) -> list[Json]:
    """Return the first lines of a transcript."""
    with open(path, "rb") as file:
        raw = file.read(HEAD_BYTES)
    return _objects(raw[: raw.rfind(b"\n") + 1])


def _objects(raw: bytes) -> list[Json]:
    found = []
    for line in raw.split(b"\n"):
        with suppress(ValueError):
            value = json.loads(line) if line.strip() else None
            if isinstance(value, dict):
                found.append(value)
    return found


def find_parent(client: str, told: Json) -> str:
    """Return the conversation that one was forked from, as far as the client tells; an empty text where it does not.

    Codex names it in the first line of the new record. Claude Code has no new record yet when the fork starts, and says
    only how long ago the parent was answered last: that is the parent if one record alone ends at that moment.
    """
    path, ago = told.get("transcript_path"), told.get("seconds_since_last_response")
    if told.get("source") not in FORKS or not isinstance(path, str) or not is_below(path, transcript_roots(client)):
        return ""
    if client == "codex" and os.path.isfile(path):
        return next((_text(_dict(line.get("payload")).get("forked_from_id")) for line in read_head(path)), "")
    if client != "claude-code" or told["source"] != "fork" or not isinstance(ago, int | float):
        return ""
    # It rounds to seconds, and this program starts up to a second later.
    began = time.time() - ago
    moments = tuple(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(began + shift)) for shift in (-1, 0, 0.5))
    parents = [other for other in _newest_beside(path) if _last_answer(other).startswith(moments)]
    return os.path.basename(parents[0]).removesuffix(".jsonl") if len(parents) == 1 else ""


def _newest_beside(path: str) -> list[str]:
    """Return the other records in the folder of one, those that changed last."""
    folder = os.path.dirname(path)
    names = [name for name in os.listdir(folder) if name.endswith(".jsonl") and name != os.path.basename(path)]
    return sorted((os.path.join(folder, name) for name in names), key=os.path.getmtime)[-SIBLINGS:]


def _last_answer(path: str) -> str:
    """Return when the agent answered last in a record of Claude Code."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - HEAD_BYTES))
        lines = _objects(file.read(HEAD_BYTES))
    return next((_text(line.get("timestamp")) for line in reversed(lines) if line.get("type") == "assistant"), "")


def read_transcript(client: str, lines: list[Json]) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Return who said what, the files that were changed, and the commits, each in the order of the transcript."""
    messages: list[tuple[str, str]] = []
    files: list[str] = []
    commits: list[str] = []
    committing: set[str] = set()
    for kind, one, other in READERS.get(client, _read_claude)(lines):
        if kind == "call":
            committing |= {one} if "git" in other and "commit" in other else set()
        elif kind == "result":
            commits += [f"{found[1]} {found[2]}" for found in COMMIT.finditer(other[:8_000]) if one in committing]
        elif kind == "file":
            files.append(other)
        elif other.strip():
            messages.append((kind, other))
    return messages, list(dict.fromkeys(files)), list(dict.fromkeys(commits))


def _read_claude(lines: list[Json]) -> Said:
    for line in lines:
        content = _dict(line.get("message")).get("content")
        if line.get("isSidechain") or line.get("isMeta") or line.get("type") not in {"user", "assistant"}:
            continue
        if isinstance(content, str):
            # Commands of the client, and what they printed, stand there like prompts.
            if not content.startswith(("<command-", "<local-command-", "Caveat: ")):
                yield str(line["type"]), "", content
            continue
        for part in _dicts(content):
            kind, given = part.get("type"), _dict(part.get("input"))
            if kind == "text" and line["type"] == "assistant":
                yield "assistant", "", _text(part.get("text"))
            elif kind == "tool_use" and part.get("name") in {"Edit", "MultiEdit", "Write", "NotebookEdit"}:
                yield "file", "", _text(given.get("file_path") or given.get("notebook_path"))
            elif kind == "tool_use":
                yield "call", _text(part.get("id")), _text(given.get("command"))
            elif kind == "tool_result":
                yield "result", _text(part.get("tool_use_id")), _text(part.get("content"))


def _read_codex(lines: list[Json]) -> Said:
    for line in lines:
        told = _dict(line.get("payload"))
        item, kind = _dict(told.get("item")), told.get("type")
        if kind == "item_completed" and item.get("type") == "UserMessage":
            yield "user", "", _text(item.get("content"))
        elif line.get("type") != "response_item":
            continue
        elif kind == "message" and told.get("role") == "assistant":
            yield "assistant", "", _text(told.get("content"))
        elif kind in {"function_call", "custom_tool_call", "local_shell_call"}:
            command = _text(told.get("arguments") or told.get("input")) or json.dumps(told.get("action") or "")
            for found in PATCHED_FILE.finditer(command.replace("\\n", "\n")):
                yield "file", "", found[1].strip()
            yield "call", _text(told.get("call_id")), _shell_command(command)
        elif kind in {"function_call_output", "custom_tool_call_output"}:
            yield "result", _text(told.get("call_id")), _text(told.get("output")).replace("\\n", "\n")


def _shell_command(arguments: str) -> str:
    """Return the command in the arguments of a call; they themselves where they have none."""
    with suppress(ValueError):
        given = _dict(json.loads(arguments))
        command = given.get("command") or given.get("cmd")
        if isinstance(command, list):
            words = [word for word in command if isinstance(word, str)]
            return words[-1] if words[1:2] in (["-c"], ["-lc"]) else " ".join(words)
        return command if isinstance(command, str) else arguments
    return arguments


def _read_gemini(lines: list[Json]) -> Said:
    # A line with the id of an earlier one stands in its place, with more in it.
    last = {line.get("id", place): line for place, line in enumerate(lines)}
    for line in last.values():
        kind, content = line.get("type"), line.get("content")
        if kind == "user" and not any("functionResponse" in part for part in _dicts(content)):
            yield "user", "", _text(content)
        elif kind == "gemini":
            for call in _dicts(line.get("toolCalls")):
                given = _dict(call.get("args"))
                if call.get("name") in {"write_file", "replace", "edit"}:
                    yield "file", "", _text(given.get("file_path") or given.get("absolute_path"))
                else:
                    yield "call", _text(call.get("id")), _text(given.get("command"))
                    yield "result", _text(call.get("id")), _text(call.get("result"))
            yield "assistant", "", _text(content)


READERS = {"codex": _read_codex, "gemini-cli": _read_gemini, "qwen-code": _read_gemini}


def _text(value: object) -> str:
    """Return the text in what clients write as a text, a list of parts, or an object with one."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        inside = (value.get(name) for name in ("text", "output", "content", "response", "functionResponse"))
        return next((text for text in map(_text, inside) if text), "")
    return "\n".join(filter(None, map(_text, value))) if isinstance(value, list) else ""


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def closing_of(client: str, path: str, kind: str, since: int, root: str) -> tuple[Json, int]:
    """Return what the transcript says of a conversation since the last capture, and where this one ended."""
    lines, end = read_tail(path, since)
    messages, files, commits = read_transcript(client, lines)
    closing: Json = {"messages": _recent(messages)}
    if kind == "end":
        # What was changed is of the whole conversation, as far as it is read.
        _, files, commits = read_transcript(client, read_tail(path, 0)[0])
    closing["files"] = [clean(name, 300) for name in (_inside(name, root) for name in files) if name][-FILES:]
    closing["commits"] = [clean(commit, 200) for commit in commits[-COMMITS:]]
    return closing, end


def _recent(messages: list[tuple[str, str]]) -> list[Json]:
    """Return the last messages, as many as the bounds allow."""
    recent: list[Json] = []
    chars = 0
    for role, text in reversed(messages[-MESSAGES:]):
        text = clean(text, TEXT_CHARS)
        chars += len(text)
        if chars > CLOSING_CHARS:
            break
        recent += [{"role": role, "text": text}] if text.strip() else []
    return recent[::-1]


def _inside(name: str, root: str) -> str:
    """Return a file's path below the project; an empty text for one elsewhere, which says nothing of this project."""
    if not os.path.isabs(name):
        return name.replace("\\", "/")
    return os.path.relpath(name, root).replace("\\", "/") if root and is_below(name, [root]) else ""


# ── Sending ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def post(config: Json, body: bytes, seconds: float) -> tuple[int, bytes]:
    """Send an event; return the status and what came back.

    Raises:
        OSError: there is no answer in time.
        ValueError: the address is none, or what answers does not speak HTTP.
    """
    until = time.monotonic() + seconds
    scheme, place, path, host, port = _read_address(config)
    # HTTP/1.0, so that nothing answers in chunks, which `_read_answer` does not read.
    head = (
        f"POST {path}/hooks/{config['client']}/ HTTP/1.0\r\nHost: {place}\r\n"
        f"Authorization: Bearer {config['key']}\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
        f"User-Agent: bigmind-hook/{config.get('version') or '0'}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    with _connect(host, port, until) as plain:
        stream = _encrypt(plain, host) if scheme == "https" else plain
        stream.settimeout(_seconds_left(until))
        stream.sendall(head.encode() + body)
        return _read_answer(stream, until)


def answers(config: Json, seconds: float = 0.2) -> bool:
    """Whether something listens where BigMind should be."""
    with suppress(OSError, ValueError):
        _, _, _, host, port = _read_address(config)
        _connect(host, port, time.monotonic() + seconds).close()
        return True
    return False


def _read_address(config: Json) -> tuple[str, str, str, str, int]:
    """Return of BigMind's address the scheme, host with port, path, host and port.

    Raises:
        ValueError: it is none.
    """
    scheme, _, rest = str(config["url"]).rstrip("/").partition("://")
    place, slash, prefix = rest.partition("/")
    host, port = _host_and_port(place, 443 if scheme == "https" else 80)
    if scheme not in {"http", "https"} or not host:
        raise ValueError("the address is not one of http or https")
    return scheme, place, slash + prefix, host, port


def _host_and_port(place: str, default: int) -> tuple[str, int]:
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = place.partition(":")
    return host, int(port) if port else default


def _connect(host: str, port: int, until: float) -> socket.socket:
    # Where nothing listens on ::1, Windows takes a second to say so.
    hosts = ("127.0.0.1", "::1") if host == "localhost" else (host,)
    for one in hosts[:-1]:
        with suppress(OSError):
            return socket.create_connection((one, port), _seconds_left(until))
    return socket.create_connection((hosts[-1], port), _seconds_left(until))


def _encrypt(plain: socket.socket, host: str) -> socket.socket:
    import ssl  # it takes as long as everything else, and most people's BigMind is on this machine

    return ssl.create_default_context().wrap_socket(plain, server_hostname=host)


def _read_answer(stream: socket.socket, until: float) -> tuple[int, bytes]:
    raw, length = b"", None
    while len(raw) <= REPLY_BYTES:
        stream.settimeout(_seconds_left(until))
        more = stream.recv(65536)
        raw += more
        head, gap, body = raw.partition(b"\r\n\r\n")
        if gap and length is None:
            found = re.search(rb"(?i)\r\ncontent-length:[ \t]*(\d{1,9})", head)
            length = int(found[1]) if found else REPLY_BYTES
        if not more or (length is not None and len(body) >= length):
            break
    status = re.match(rb"HTTP/1\.\d (\d{3})", raw)
    if status is None or len(raw) > REPLY_BYTES:
        raise ValueError("what answers is not BigMind")
    return int(status[1]), raw.partition(b"\r\n\r\n")[2]


def _seconds_left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left


# ── What is kept on this machine ──────────────────────────────────────────────────────────────────────────────────────


def write_private(path: str, content: bytes) -> None:
    """Write a file that only its owner can read, in one step."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def spool_folder(config: Json) -> str:
    """Return where events of a client wait for BigMind."""
    return os.path.join(config["folder"], "spool", config["client"])


def list_spool(config: Json) -> list[str]:
    """Return the files that wait, the oldest first."""
    try:
        names = sorted(name for name in os.listdir(spool_folder(config)) if name.endswith(".json"))
    except OSError:
        return []
    return [os.path.join(spool_folder(config), name) for name in names]


def spool(config: Json, event: Json) -> None:
    """Keep an event until BigMind is back. Beyond the limits, the oldest are dropped."""
    own = {name: value for name, value in event["bigmind"].items() if name != "missed"}
    content = json.dumps({**event, "bigmind": {**own, "late": True}}).encode()
    name = f"{time.time_ns():020d}-{event['bigmind']['event_id']}.json"
    # First the room, so that a spool never takes more than its bounds, and a full disk gets some back.
    waiting = list_spool(config)
    sizes = [_size(path) for path in waiting]
    while waiting and (len(waiting) >= SPOOL_FILES or sum(sizes) + len(content) > SPOOL_BYTES):
        sizes.pop(0)
        with suppress(OSError):
            os.unlink(waiting.pop(0))
    write_private(os.path.join(spool_folder(config), name), content)


def keep_call(config: Json, told: Json, tool: str) -> None:
    """Keep a call that found BigMind away, without secrets and private passages, to be carried out when it is back.

    Raises:
        OSError: it cannot be kept.
        ValueError: it is too long.
    """
    given = clean_values(_dict(told.get("tool_input")))
    if len(json.dumps(given)) > TOOL_INPUT_CHARS:
        raise ValueError("the call is too long to be kept")
    folder = str(told.get("cwd") or os.getcwd())
    own = {"event_id": _new_id(), "at": _now(), "folder": folder, "repository": find_repository(folder)[0]}
    session = _text(told.get("session_id"))
    spool(
        config,
        {"hook_event_name": KEPT_CALL, "session_id": session, "tool_name": tool, "tool_input": given, "bigmind": own},
    )


def clean_values(value: Any) -> Any:
    """Return the arguments of a call as they may be kept and sent: texts without secrets and private passages."""
    if isinstance(value, str):
        return clean(value, TOOL_INPUT_CHARS)
    if isinstance(value, dict):
        return {name: clean_values(one) for name, one in value.items()}
    return [clean_values(one) for one in value] if isinstance(value, list) else value


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def flush(config: Json, until: float) -> None:
    """Send waiting events, the oldest first, until the time is up or BigMind refuses one."""
    for path in list_spool(config):
        if until - time.monotonic() < 0.1:
            return
        try:
            with open(path, "rb") as file:
                body = file.read(SPOOL_BYTES)
            if is_below(_folder_of(body), never_folders(config)):
                os.unlink(path)
                continue
            status, _ = post(config, body, until - time.monotonic())
        except (OSError, ValueError):
            return
        if status >= 300 and status not in REFUSED_FOR_GOOD:
            return
        with suppress(OSError):
            os.unlink(path)


def _folder_of(body: bytes) -> str:
    """Return where an event that waits happened. One that cannot be read is BigMind's to refuse."""
    with suppress(ValueError):
        return _text(_dict(_dict(json.loads(body)).get("bigmind")).get("folder"))
    return ""


def _state_path(config: Json, session: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", session)[:80]
    return os.path.join(config["folder"], "state", config["client"], f"{name}.json")


def read_state(config: Json, session: str) -> Json:
    """Return what is noted of a conversation: how far it was captured, and whether its model knows of an outage."""
    with suppress(OSError, ValueError):
        return _read_json(_state_path(config, session))
    return {}


def read_place(config: Json, session: str) -> int:
    """Return how far the transcript of a conversation was captured."""
    with suppress(ValueError, TypeError):
        return max(0, int(read_state(config, session).get("place") or 0))
    return 0


def write_state(config: Json, session: str, **changes: object) -> None:
    """Note something of a conversation beside what is noted already."""
    with suppress(OSError):
        path = _state_path(config, session)
        write_private(path, json.dumps({**read_state(config, session), **changes}).encode())
        states = [os.path.join(os.path.dirname(path), name) for name in os.listdir(os.path.dirname(path))]
        for old in sorted(states, key=os.path.getmtime)[:-STATE_FILES]:
            os.unlink(old)


def list_exclusions(config: Json) -> list[str]:
    """Return the folders that the person excluded on the page, as BigMind said last."""
    with suppress(OSError, ValueError):
        return [folder for folder in _read_json(_exclusions_path(config)).get("never", []) if isinstance(folder, str)]
    return []


def never_folders(config: Json) -> list[str]:
    """Return the folders of which nothing is sent: those named when the client was connected, and those excluded."""
    return [*config.get("never", []), *list_exclusions(config)]


def keep_settings(config: Json, settings: Json) -> None:
    """Keep the folders that the person excluded, so that nothing of them is sent from now on."""
    never = settings.get("never")
    if isinstance(never, list) and never != list_exclusions(config):
        with suppress(OSError):
            write_private(_exclusions_path(config), json.dumps({"never": never}).encode())
    told = settings.get("triggers")
    if isinstance(told, str):
        with suppress(OSError):
            if told:
                write_private(_triggers_path(config), told.encode())
            else:  # They are still those that are here.
                os.utime(_triggers_path(config))


def _triggers_path(config: Json) -> str:
    return os.path.join(config["folder"], "triggers", f"{config['client']}.set")


def read_signature(config: Json) -> str:
    """Return by what BigMind tells whether the triggers on this machine are those that hold."""
    return _first_line(_triggers_path(config))


def take_notes(config: Json) -> list[str]:
    """Return the files in which the program for acts noted what fired, closed for it."""
    folder = os.path.join(config["folder"], "acts")
    with suppress(OSError):
        name = os.path.join(folder, f"{config['client']}.jsonl")
        os.rename(name, f"{name[: -len('jsonl')]}{time.time_ns():020d}.jsonl")
    with suppress(OSError):
        begins = f"{config['client']}."
        # The oldest alone: one event takes no more than `ACTS`, and later ones take the others.
        names = sorted(name for name in os.listdir(folder) if name.startswith(begins) and name != f"{begins}jsonl")
        return [os.path.join(folder, name) for name in names[:1]]
    return []


def read_notes(path: str) -> list[Json]:
    """Return the acts at which something fired. Commands, which older versions noted, stay here."""
    with suppress(OSError), open(path, "rb") as file:
        noted = [act for act in _objects(file.read(INPUT_BYTES)) if act.get("f")]
        return [{name: act.get(name) for name in ("id", "at", "s", "d", "f")} for act in noted]
    return []


def _exclusions_path(config: Json) -> str:
    return os.path.join(config["folder"], f"{config['client']}.excluded.json")


def _failures_path(config: Json) -> str:
    return os.path.join(config["folder"], f"{config['client']}.failure.json")


def read_failures(config: Json) -> Json:
    """Return the last failure, how many answers came too late, how many found nobody, and what BigMind knows of it."""
    none = {"late": 0, "away": 0, "sent": [0, 0]}
    with suppress(OSError, ValueError):
        return {**none, **_read_json(_failures_path(config))}
    return none


def note_failure(config: Json, event: str, reason: str, *, is_late: bool = False) -> None:
    """Record why an event was not delivered, for `bigmind doctor` and for the page Captured."""
    with suppress(OSError, TypeError):
        failures = read_failures(config)
        failures["late" if is_late else "away"] += 1
        failures |= {"at": _now(), "event": event, "reason": reason[:300]}
        write_private(_failures_path(config), json.dumps(failures).encode())


def list_missed(config: Json) -> Json:
    """Return what BigMind does not know yet of failures on this machine; nothing where it knows all."""
    failures = read_failures(config)
    with suppress(TypeError, ValueError):
        late, away = failures["late"] - failures["sent"][0], failures["away"] - failures["sent"][1]
        told = {name: _text(failures.get(name)) for name in ("at", "event", "reason")}
        return {"late": late, "away": away, **told} if late or away else {}
    return {}


def with_line(client: str, event: str, answer: Json, line: str) -> Json:
    """Return an answer with a line above what the model reads of it, as the client expects it."""
    flat, own = FLAT_ANSWERS.get(client), _dict(answer.get("hookSpecificOutput"))
    brought = answer.get(flat) if flat else own.get("additionalContext")
    text = "\n".join(filter(None, (line, _text(brought))))
    if flat:
        return {**answer, flat: text}
    return {**answer, "hookSpecificOutput": {"hookEventName": event, **own, "additionalContext": text}}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def read_config(client: str) -> Json | None:
    """Return where BigMind is and with what key, from the file beside this one, else from BIGMIND_HOME.

    Where neither is there, the variables BIGMIND_API_KEY and BIGMIND_URL say it.
    """
    own = os.path.dirname(os.path.abspath(__file__))
    homes = (os.environ.get("BIGMIND_HOME", ""), os.path.join(os.path.expanduser("~"), ".bigmind"))
    folders = [own, *(os.path.join(home, "hooks") for home in homes if home)]
    for folder in folders:
        if os.path.isfile(os.path.join(folder, f"{client}.json")):
            config = _read_json(os.path.join(folder, f"{client}.json"))
            return {**config, "key": config.get("key") or os.environ.get("BIGMIND_API_KEY", ""), "folder": folder}
    key = os.environ.get("BIGMIND_API_KEY", "")
    url = os.environ.get("BIGMIND_URL") or "http://localhost:7700"
    return {"client": client, "url": url, "key": key, "folder": folders[1]} if key else None


def _read_json(path: str) -> Json:
    with open(path, encoding="utf-8") as file:
        return _dict(json.load(file))


# ── One event ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class HookRun:
    """What is known of the event at hand: shared by the thread that sends it and the one that watches the clock."""

    def __init__(self, client: str, name: str) -> None:
        self.client = client
        self.name = name
        self.kind = ""
        self.config: Json = {}
        self.event: Json = {}
        self.place: int | None = None
        self.notes: list[str] = []
        self.answer: Json = {}
        self.is_settled = False
        self.status = 0
        self.error = ""
        self.detail = ""
        self.missed: Json = {}

    @property
    def until(self) -> float:
        """When the client must have its answer."""
        return BEGAN + SECONDS.get(self.kind or KINDS.get(self.name, ""), 0.25)

    def prepare(self, raw: bytes) -> bool:
        """Read what the client said. Return whether it is to be sent."""
        told = _dict(json.loads(raw)) if raw.strip() else {}
        self.name = str(told.get("hook_event_name") or self.name)
        self.kind = KINDS.get(self.name, "")
        config = read_config(self.client) if self.kind else None
        if not self.kind or config is None or os.environ.get("BIGMIND_HOOKS", "").lower() in {"off", "0", "false"}:
            return False
        folder = str(told.get("cwd") or os.getcwd())
        if self.kind not in {"ping", "triggers"} and (
            self.kind not in config.get("events", SECONDS) or is_below(folder, config.get("never", []))
        ):
            return False
        self.config = config
        if self.kind != "ping" and is_below(folder, list_exclusions(config)):
            # A start asks whether the folder is still excluded, and says nothing of itself: not even which one.
            self.event = {"hook_event_name": "Ping", "bigmind": {"settings": True}}
            return self.kind == "start"
        self.event = choose(told, self.name)
        repository, branch, root = find_repository(folder)
        own: Json = {"event_id": _new_id(), "at": _now(), "late": False, "folder": folder}
        own |= {"repository": repository, "branch": branch, "version": config.get("version", "")}
        if missed := list_missed(config):
            own["missed"] = self.missed = missed
        if self.event.get("agent_id"):
            own["sub_agent"] = str(self.event["agent_id"])
        if self.kind == "start":
            own["settings"] = True
            with suppress(OSError):
                own["continues"] = find_parent(self.client, told)
        if self.kind in EXCHANGES and "act" in config.get("events", []):
            own |= {"settings": True, "triggers": read_signature(config), "acts": self._take_acts()}
        self.event["bigmind"] = own
        if self.kind in CAPTURES:
            self._capture(told.get("transcript_path"), root or folder)
        return True

    def _take_acts(self) -> list[Json]:
        """Return what the program for acts noted; its notes go when they are in safe hands."""
        self.notes = take_notes(self.config)
        return [act for path in self.notes for act in read_notes(path)][:ACTS]

    def _capture(self, path: object, root: str) -> None:
        if not isinstance(path, str) or not is_below(path, transcript_roots(self.client)) or not os.path.isfile(path):
            return
        with suppress(OSError):
            since = read_place(self.config, self.session)
            self.event["bigmind"]["closing"], self.place = closing_of(self.client, path, self.kind, since, root)

    @property
    def session(self) -> str:
        """The client's own id of the conversation."""
        return str(self.event.get("session_id") or self.event.get("sessionId") or self.event.get("conversation_id"))

    def send(self) -> None:
        """Send the event, and then what waits."""
        body = json.dumps(self._without_messages() if self.kind == "stop" else self.event).encode()
        self.status, reply = post(self.config, body, self.until - time.monotonic())
        if self.status == 200:
            answer = _dict(json.loads(reply))
            # Clients refuse an answer with a key that they do not know.
            settings = _dict(answer.pop("bigmind", None))
            if len(json.dumps(answer)) > TOLD_BYTES:
                raise ValueError("what answers is not BigMind")
            self.answer = self._with_news(answer)
            keep_settings(self.config, settings)
            # A stop went without its messages: the place stays, so that the next compaction or end brings them.
            self.settle(has_messages=self.kind != "stop")
            if self.kind == "start" and "act" in self.config.get("events", []):
                self._fetch_triggers()
            flush(self.config, min(self.until, time.monotonic() + FLUSH_SECONDS.get(self.kind, 0)))
        else:
            with suppress(ValueError):
                self.detail = " ".join(_text(_dict(json.loads(reply)).get("detail")).split())[:200]
            self.fail(f"BigMind answers {self.status}")

    def _with_news(self, answer: Json) -> Json:
        """Return an answer with the line that BigMind is back, where the model read that it was away."""
        if self.missed:
            failures = read_failures(self.config)
            failures["sent"] = [failures["late"], failures["away"]]
            with suppress(OSError):
                write_private(_failures_path(self.config), json.dumps(failures).encode())
        state = read_state(self.config, self.session) if self.kind in SAYS else {}
        if not (state.get("away") or state.get("late")):
            return answer
        write_state(self.config, self.session, away="", late=False)
        since = _text(state.get("away"))
        return with_line(self.client, self.name, answer, BACK.format(since=since)) if since else answer

    def announce(self, *, is_late: bool) -> None:
        """Let the model read once that BigMind is away, late, or takes nothing."""
        state = read_state(self.config, self.session)
        if self.kind not in SAYS or (state.get("late" if is_late else "away") and self.kind != "start"):
            return
        line = (
            LATE
            if is_late
            else REFUSED.format(detail=self.detail or self.error)
            if self.status not in {0, 200}
            else AWAY
        )
        self.answer = with_line(self.client, self.name, {}, line)
        since = {"late": True} if is_late else {"away": state.get("away") or time.strftime("%H:%M")}
        write_state(self.config, self.session, **since)

    def _fetch_triggers(self) -> None:
        own = {"settings": True, "triggers": read_signature(self.config), "acts": self._take_acts()}
        body = json.dumps({"hook_event_name": "Triggers", "bigmind": own}).encode()
        status, reply = post(self.config, body, self.until - time.monotonic())
        if status == 200:
            keep_settings(self.config, _dict(_dict(json.loads(reply)).get("bigmind")))
            self.settle(has_messages=False)

    def _without_messages(self) -> Json:
        """Return a stop without what was said: BigMind knows the prompt, and the last message is in the event."""
        told = self.event["bigmind"]
        closing = {name: value for name, value in told.get("closing", {}).items() if name != "messages"}
        return {**self.event, "bigmind": {**told, **({"closing": closing} if closing else {})}}

    def settle(self, *, has_messages: bool) -> None:
        """Record that this event is safe: with BigMind or in the spool."""
        self.is_settled = True
        for path in self.notes:
            with suppress(OSError):
                os.unlink(path)
        if self.place is not None and has_messages:
            write_state(self.config, self.session, place=self.place)

    def fail(self, reason: str) -> None:
        """Keep an event that was not delivered."""
        self.error = reason
        if self.is_settled or "event_id" not in self.event.get("bigmind", {}) or self.kind == "ping":
            return
        is_late = not self.status and self.kind == "prompt" and reason.endswith(("in time", "timed out"))
        note_failure(self.config, self.name, reason, is_late=is_late)
        _quietly(lambda: self.announce(is_late=is_late))
        if self.kind in KEPT and self.status not in REFUSED_FOR_GOOD:
            with suppress(OSError):
                spool(self.config, self.event)
                self.settle(has_messages=True)


def _new_id() -> str:
    digits = bytearray(os.urandom(16))
    digits[6], digits[8] = digits[6] & 0x0F | 0x40, digits[8] & 0x3F | 0x80
    text = digits.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def main(arguments: list[str]) -> None:
    """Answer one event: print a JSON object and leave, in time, whatever happens."""
    run = HookRun(arguments[0] if arguments else "", arguments[1] if len(arguments) > 1 else "")
    done = _thread.allocate_lock()
    done.acquire()

    def work() -> None:
        try:
            if run.prepare(sys.stdin.buffer.read(INPUT_BYTES)):
                run.send()
        except BaseException as error:  # noqa: BLE001 - a client must never see this program fail
            problem = str(error) or type(error).__name__
            _quietly(lambda: run.fail(problem))
        finally:
            done.release()

    # Names are looked up, and standard input is read, without a limit of time: so the clock is watched from here.
    _thread.start_new_thread(work, ())
    while not done.acquire(timeout=0.02):
        if time.monotonic() > run.until + 0.02:
            _quietly(lambda: run.fail("no answer in time"))
            break
    with suppress(OSError):
        if run.kind == "ping":
            took = round((time.monotonic() - BEGAN) * 1000)
            sys.stderr.write(json.dumps({"status": run.status, "milliseconds": took, "error": run.error}))
            sys.stderr.flush()
        sys.stdout.buffer.write(json.dumps(run.answer, ensure_ascii=False).encode())
        sys.stdout.flush()
    os._exit(0)


def _quietly(act: Callable[[], None]) -> None:
    with suppress(Exception):
        act()


if __name__ == "__main__":
    main(sys.argv[1:])

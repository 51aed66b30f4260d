"""Dialects: how each client names its events, and what it expects a hook to answer. One table, for all of them.

Seen with Claude Code 2.1, Codex 0.169, Gemini CLI 0.61, Copilot CLI 1.0 and Qwen Code 0.15; the others follow their
documentation. What a client does not understand it is never sent: an unknown key makes some of them refuse the answer.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from knowledge.capture.reports import HookReply
from knowledge.models import HookEventName

REPLY_BYTES = 9_500
"""Claude Code and Codex cut what is longer than 10,000 characters or bytes."""

Answer = dict[str, Any]

START, PROMPT, TOOL = HookEventName.START, HookEventName.PROMPT, HookEventName.TOOL
STOP, COMPACT, END = HookEventName.STOP, HookEventName.COMPACT, HookEventName.END


@dataclass(frozen=True)
class Dialect:
    """One client: the name it has over MCP, its events, and how it reads an answer.

    Attributes:
        agent: How the client introduces itself over MCP, so that hooks and calls are of the same agent.
        write: Returns what the client expects on standard output for one of its events.
        frequent: Events that come before every request of the model.
        completes_arguments: Whether its hook names the conversation in the arguments of a tool, as nothing else does.
    """

    agent: str
    events: Mapping[str, HookEventName]
    write: Callable[[str, HookReply], Answer]
    frequent: frozenset[str] = field(default_factory=frozenset)
    completes_arguments: bool = False


def write_as_claude(event: str, reply: HookReply) -> Answer:
    """Return the answer as Claude Code defined it and most others took it over."""
    if reply.go_on:
        return {"decision": "block", "reason": reply.go_on}
    if reply.context:
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": reply.context}}
    return {}


def write_flat(event: str, reply: HookReply) -> Answer:
    """Return the answer of Copilot CLI, which reads context at the top level."""
    if reply.go_on:
        return {"decision": "block", "reason": reply.go_on}
    return {"additionalContext": reply.context} if reply.context else {}


def write_as_cursor(event: str, reply: HookReply) -> Answer:
    """Return the answer of Cursor: context at the start, and a message to follow up with at a stop."""
    if reply.go_on:
        return {"followup_message": reply.go_on}
    return {"additional_context": reply.context} if reply.context else {}


CLAUDE_EVENTS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PreToolUse": TOOL,
    "Stop": STOP,
    "PreCompact": COMPACT,
    "SessionEnd": END,
}
GEMINI_EVENTS = {
    "SessionStart": START,
    "BeforeAgent": PROMPT,
    "BeforeTool": TOOL,
    "AfterAgent": STOP,
    "PreCompress": COMPACT,
    "SessionEnd": END,
}
COPILOT_EVENTS = {
    "sessionStart": START,
    "userPromptSubmitted": PROMPT,
    "preToolUse": TOOL,
    "agentStop": STOP,
    "preCompact": COMPACT,
    "sessionEnd": END,
}
CURSOR_EVENTS = {
    "sessionStart": START,
    "beforeSubmitPrompt": PROMPT,
    "beforeMCPExecution": TOOL,
    "stop": STOP,
    "preCompact": COMPACT,
    "sessionEnd": END,
}

DIALECTS = {
    "claude-code": Dialect("claude-code", CLAUDE_EVENTS, write_as_claude),
    "codex": Dialect("codex-mcp-client", CLAUDE_EVENTS, write_as_claude),
    "gemini-cli": Dialect(
        "gemini-cli-mcp-client",
        GEMINI_EVENTS,
        write_as_claude,
        frequent=frozenset({"PreCompress"}),
        completes_arguments=True,
    ),
    "qwen-code": Dialect("qwen-cli-mcp-client-bigmind", CLAUDE_EVENTS, write_as_claude),
    "copilot": Dialect("copilot-cli", COPILOT_EVENTS, write_flat),
    "cursor": Dialect("cursor-vscode", CURSOR_EVENTS, write_as_cursor),
    "vscode": Dialect("Visual Studio Code", CLAUDE_EVENTS, write_as_claude),
    "opencode": Dialect("opencode", CLAUDE_EVENTS, write_as_claude),
}


def with_settings(body: bytes, never: Sequence[str], triggers: str | None) -> bytes:
    """Return an answer with what the hook program keeps for itself: folders that the user excluded, and triggers."""
    own: Answer = {"never": list(never), **({} if triggers is None else {"triggers": triggers})}
    return json.dumps({**json.loads(body), "bigmind": own}, ensure_ascii=False).encode()


def body_of(dialect: Dialect, event: str, reply: HookReply) -> bytes:
    """Return the answer as JSON of at most 9,500 bytes: lines that do not fit are left out from the end."""
    while len(body := json.dumps(dialect.write(event, reply), ensure_ascii=False).encode()) > REPLY_BYTES:
        # What a client is asked to go on with is a sentence of ours, which fits.
        kept = reply.context.rpartition("\n")[0]
        reply = HookReply(context=kept, go_on=reply.go_on)
    return body


def body_of_arguments(event: str, arguments: Mapping[str, Any]) -> bytes:
    """Return the arguments of a tool as Gemini CLI reads them, or nothing if they are too long to hand back."""
    answer = {"hookSpecificOutput": {"hookEventName": event, "tool_input": arguments}}
    body = json.dumps(answer, ensure_ascii=False).encode()
    return body if len(body) <= REPLY_BYTES else b"{}"

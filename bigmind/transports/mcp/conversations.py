"""Which conversation a request belongs to: what the client says, else its hook, else a header, else the connection.

Codex names conversation and sub-agent with each call. Claude Code names the use of a tool, which its hook reported
before. Gemini CLI says nothing, so its hook adds an argument. Programs of their own send the header
`BigMind-Conversation`. A connection comes last: it outlives `/clear`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from accounts.actor import Actor
from bigmind.database.rls import rls_scope
from bigmind.text.hygiene import digest
from bigmind.transports.mcp.request_context import Caller
from knowledge.capture.conversations import digest_of_id, find_by_tool_use

CONVERSATION_IDS = ("bigmind/conversation", "sessionId", "threadId")
"""The last two are what Codex sends. A thread of its own beside a session is a sub-agent."""
TOOL_USE_ID = "claudecode/toolUseId"
CONVERSATION_ARGUMENT = "bigmind_conversation"
"""The argument by which a hook says which conversation calls. No operation has one of this name."""


def bind_request(actor: Actor, caller: Caller, meta: Mapping[str, Any]) -> Actor:
    """Return the actor with the conversation that the metadata or a header names, and with its connection."""
    conversation_id = _text_in(meta, *CONVERSATION_IDS)
    thread = _text_in(meta, "threadId")
    named = conversation_id or caller.conversation
    return replace(
        actor,
        conversation=digest_of_id(named) if named else "",
        connection=digest(caller.connection) if caller.connection else "",
        sub_agent=thread[:100] if thread != conversation_id else "",
    )


def bind_call(actor: Actor, meta: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[Actor, dict[str, Any]]:
    """Return the actor with the conversation that a hook told for this call, and the arguments of the operation."""
    own = {name: value for name, value in arguments.items() if name != CONVERSATION_ARGUMENT}
    if named := _text_in(arguments, CONVERSATION_ARGUMENT):
        return replace(actor, conversation=digest_of_id(named)), own
    if (tool_use := _text_in(meta, TOOL_USE_ID)) and not _text_in(meta, *CONVERSATION_IDS):
        with rls_scope(actor.user.pk):
            announced = find_by_tool_use(actor, tool_use)
        if announced:
            return replace(actor, conversation=announced[0], sub_agent=announced[1]), own
    return actor, own


def _text_in(values: Mapping[str, Any], *names: str) -> str:
    """Return the first of these that is a text and says something."""
    for name in names:
        if isinstance(text := values.get(name), str) and text:
            return text
    return ""

"""Tools: each operation of the catalogue as MCP lists it, and as MCP calls it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from mcp import MCPError, types

from accounts.services.onboarding import note_listing
from bigmind.core.errors import BigMindError, Invalid
from bigmind.core.operations import Effect, Operation
from bigmind.gate import PART, perform
from bigmind.operations import CATALOGUE, nearest_names, operations_for
from bigmind.transports.mcp.changes import announce
from bigmind.transports.mcp.replies import refusal_of, reply_of
from bigmind.transports.mcp.request_context import Turn
from bigmind.transports.mcp.tool_schemas import outline_of_arguments, outline_of_reply

IDEMPOTENCY_KEYS = ("idempotencyKey", "bigmind/idempotencyKey")


def list_tools(turn: Turn, _: types.PaginatedRequestParams | None = None) -> types.ListToolsResult:
    """List the tools of the toolsets asked for, as far as the key permits them."""
    tools = [tool_of(operation, structured=turn.structured) for operation in operations_for(turn.actor, turn.toolsets)]
    if turn.actor.key:
        note_listing(turn.actor.key, len(tools))
    return types.ListToolsResult(tools=tools)


def call_tool(turn: Turn, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Perform an operation, listed or not. A refusal is a result that the agent reads, not a protocol error.

    Raises:
        MCPError: there is no such tool.
    """
    operation = CATALOGUE.get(params.name)
    if operation is None:
        raise _no_such_tool(turn, params.name)
    try:
        outcome = perform(
            operation,
            turn.actor,
            params.arguments or {},
            door="mcp",
            idempotency_key=_idempotency_key(params.meta or {}),
        )
    except BigMindError as refusal:
        return refusal_of(turn, operation, refusal)
    announce(turn.actor.user.pk, outcome)
    return reply_of(turn, outcome)


@cache
def tool_of(operation: Operation, *, structured: bool = False) -> types.Tool:
    """Return an operation as MCP lists it. Every word of it is paid for by each conversation."""
    reads = operation.effect is Effect.READ
    arguments = outline_of_arguments(operation.input_schema())
    if reads:
        arguments["properties"] = {**arguments["properties"], PART: {"type": "integer"}}
    return types.Tool(
        name=operation.name,
        title=operation.title,
        description=operation.description,
        input_schema=arguments,
        output_schema=outline_of_reply(operation.shape) if structured else None,
        annotations=types.ToolAnnotations(
            read_only_hint=reads,
            destructive_hint=operation.effect is Effect.DESTROY,
            idempotent_hint=reads or operation.idempotent,
            open_world_hint=False,
        ),
    )


def _idempotency_key(meta: Mapping[str, Any]) -> str | None:
    key = next((meta[name] for name in IDEMPOTENCY_KEYS if meta.get(name) is not None), None)
    if key is not None and not isinstance(key, str):
        raise Invalid("The idempotency key must be a text.")
    return key


def _no_such_tool(turn: Turn, name: str) -> MCPError:
    known = [operation.name for operation in operations_for(turn.actor, {"all"})]
    nearest = nearest_names(name[:100], known)
    advice = f"The nearest: {', '.join(nearest)}." if nearest else "tools/list names those there are."
    return MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:100]}. {advice}", {"nearest": nearest})

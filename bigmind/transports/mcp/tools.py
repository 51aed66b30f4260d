"""Tools: each operation of the catalogue as MCP lists it, calls it, and answers what it returned or refused."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from django.template.loader import render_to_string
from mcp import MCPError, types

from accounts.services.agents import note_listing
from bigmind.core.errors import BigMindError, Invalid
from bigmind.core.load_once import load_once
from bigmind.core.operations import Effect, Operation
from bigmind.gate import PART, Outcome, perform
from bigmind.operations import (
    CATALOGUE,
    USE_TOOL,
    find_named,
    find_operation,
    guess_operation,
    nearest_names,
    operation_to_perform,
    operations_for,
)
from bigmind.text.hygiene import mention
from bigmind.transports.corrected_calls import correct
from bigmind.transports.mcp.conversations import bind_call
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.tool_schemas import outline_of_arguments, outline_of_reply
from knowledge.context.reply_notices import hear_notices

# Claude Code lists the names of tools alone, and lets its model search for the rest, unless a tool says otherwise.
LOADED_AT_ONCE = {"anthropic/alwaysLoad": True}
# What is in a dialect that their validators do not have (they have draft 07 and 2020-12), they leave to the server.
UNCHECKED = "https://json-schema.org/draft/2019-09/schema"
IDEMPOTENCY_KEYS = ("idempotencyKey", "bigmind/idempotencyKey")
BUDGETED = {"memory_start_session", "memory_get_context"}
"""Operations whose whole reply has a budget of tokens, so that nothing is added to it."""


def list_tools(context: RequestContext, _: types.PaginatedRequestParams | None = None) -> types.ListToolsResult:
    """List the tools of the requested toolsets that the key permits."""
    tools = [
        tool_of(operation, structured=context.structured, unchecked=context.is_strict)
        for operation in operations_for(context.actor, context.toolsets)
    ]
    if context.actor.key:
        note_listing(context.actor.key, len(tools))
    return types.ListToolsResult(tools=tools)


def list_unchecked(toolsets: Collection[str]) -> types.ListToolsResult:
    """List the tools of the requested toolsets for any caller: each call is checked anyway."""
    return types.ListToolsResult(tools=[tool_of(one) for one in CATALOGUE.values() if one.is_listed_in(toolsets)])


def call_tool(context: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Perform an operation, listed or not. A refusal is a result that the agent reads, not a protocol error.

    Raises:
        MCPError: there is no such tool.
    """
    actor, sent = bind_call(context.actor, params.meta or {}, params.arguments or {})
    context, params = replace(context, actor=actor), params.model_copy(update={"arguments": sent})
    operation, arguments = _read_call(context, params)
    try:
        outcome = perform(
            operation,
            actor,
            arguments,
            transport="mcp",
            idempotency_key=_idempotency_key(params.meta or {}),
        )
    except BigMindError as refusal:
        return refusal_of(context, operation, arguments, refusal)
    reply = reply_of(context, outcome)
    if params.name in CATALOGUE:
        return reply
    note = f"There is no tool {params.name[:40]}: this is the reply of {operation.name}."
    return reply.model_copy(update={"content": [types.TextContent(text=note), *reply.content]})


def is_slow(params: types.CallToolRequestParams) -> bool:
    """Return whether a call searches, or reads or writes much: it waits for others like it, and holds up none."""
    operation = find_operation(params.name) or guess_operation(params.name)
    return operation is not None and (find_named(operation, params.arguments or {}) or operation).is_slow


def _read_call(context: RequestContext, params: types.CallToolRequestParams) -> tuple[Operation, dict[str, Any]]:
    """Return the operation that a call is for, and its arguments.

    A made-up name that can only mean reading is taken for it. One that means writing is answered with the call to send:
    what a guess stored would have to be found and taken back.

    Raises:
        MCPError: there is no such tool.
    """
    arguments = params.arguments or {}
    operation = CATALOGUE.get(params.name) or find_operation(params.name)
    if operation is None:
        operation = guess_operation(params.name)
        if operation is None or operation.effect is not Effect.READ:
            raise _no_such_tool(context, params.name, arguments, operation)
    return operation_to_perform(operation, arguments) if operation.performs_others else (operation, arguments)


@load_once
def tool_of(operation: Operation, *, structured: bool = False, unchecked: bool = False) -> types.Tool:
    """Return an operation as MCP lists it. Keep it short: each conversation pays for every word.

    `unchecked` is for clients that would check the arguments themselves, and so keep from BigMind what it forgives.
    """
    reads = operation.effect is Effect.READ and not operation.performs_others
    arguments = outline_of_arguments(operation.input_schema)
    if reads:
        arguments["properties"] = {**arguments["properties"], PART: {"type": "integer"}}
    return types.Tool(
        name=operation.name,
        title=operation.title,
        description=operation.description,
        input_schema=({"$schema": UNCHECKED} if unchecked else {}) | arguments,
        _meta=LOADED_AT_ONCE if operation.is_listed_in({"core"}) else None,
        output_schema=outline_of_reply(operation.shape) if structured else None,
        annotations=types.ToolAnnotations(
            read_only_hint=reads,
            destructive_hint=operation.effect is Effect.DESTROY or operation.performs_others,
            idempotent_hint=reads or operation.idempotent,
            open_world_hint=False,
        ),
    )


def _idempotency_key(meta: Mapping[str, Any]) -> str | None:
    key = next((meta[name] for name in IDEMPOTENCY_KEYS if meta.get(name) is not None), None)
    if key is not None and not isinstance(key, str):
        raise Invalid("The idempotency key must be a text.")
    return key


def _no_such_tool(
    context: RequestContext, name: str, arguments: Mapping[str, Any], meant: Operation | None
) -> MCPError:
    known = [operation.name for operation in operations_for(context.actor, {"all"})]
    nearest = nearest_names(name[:100], known)
    if meant and meant.name in known:
        call = correct(meant, arguments, through=performer_for(context, meant), respelled=False) or meant.name
        return MCPError(types.INVALID_PARAMS, f"Unknown tool: {mention(name)}. Call {call}.", {"nearest": [meant.name]})
    advice = f"The nearest: {', '.join(nearest)}." if nearest else "tools/list names those there are."
    return MCPError(types.INVALID_PARAMS, f"Unknown tool: {mention(name)}. {advice}", {"nearest": nearest})


def reply_of(context: RequestContext, outcome: Outcome) -> types.CallToolResult:
    """Return the result of a tool call: the reply in markdown, followed by notices for the agent.

    Structured content comes only on request: clients show their model either that or the markdown, never both.
    """
    # A start has heard them already, within its budget, and what did not fit waits for the next call.
    heard = [] if outcome.operation.name in BUDGETED else hear_notices(context.actor)
    lines = [outcome.markdown().rstrip(), *outcome.notices, *heard]
    replayed = {"replayed": True} if outcome.replayed else {}
    noticed = {"notices": list(outcome.notices)} if outcome.notices else {}
    return types.CallToolResult(
        content=[types.TextContent(text="\n\n".join(lines))],
        structured_content=outcome.to_data() if context.structured else None,
        _meta={**meta_of(context), **replayed, **noticed},
    )


def refusal_of(
    context: RequestContext, operation: Operation, arguments: Mapping[str, Any], refusal: BigMindError
) -> types.CallToolResult:
    """Return a refusal: what is wrong, field by field, what to do next, and the call put right if it was misspelt.

    The details for programs are in `_meta`: structured content would have to follow the tool's output schema. A client
    that shows its model the metadata of a refusal gets them on request alone.
    """
    problems = refusal.problems if isinstance(refusal, Invalid) else []
    send = refusal.details.get("send", {})
    through = performer_for(context, operation)
    call = correct(operation, {**arguments, **send}, through=through, respelled=not send) if problems or send else ""
    text = render_to_string("agent/refusal.md", {"refusal": refusal, "call": call}, using="agent")
    error = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint, **refusal.details}
    if context.is_strict and not context.structured:
        return error_of(text, meta_of(context))
    return error_of(text, meta_of(context) | {"error": error | ({"problems": problems} if problems else {})})


def performer_for(context: RequestContext, operation: Operation) -> str:
    """Return the tool through which a client calls an operation that it does not list; empty if it lists it."""
    listed = [one for one in (operation, USE_TOOL) if one.is_listed_in(context.toolsets)]
    return USE_TOOL.name if listed == [USE_TOOL] else ""


def error_of(text: str, meta: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text.strip())], is_error=True, _meta=meta)


def meta_of(context: RequestContext) -> dict[str, Any]:
    """Return the metadata of every result: the id of the request, and the end of the key if that is soon."""
    key = context.actor.key
    ending = {"keyEndsAt": key.ends_at.isoformat()} if key and key.ends_soon and key.ends_at else {}
    return {"requestId": context.request_id, **ending}

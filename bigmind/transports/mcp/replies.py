"""Replies: what an operation returned or refused, as the result of a tool call."""

from collections.abc import Mapping
from typing import Any

from django.template.loader import render_to_string
from mcp import types

from bigmind.core.errors import BigMindError, Invalid
from bigmind.core.operations import Operation
from bigmind.gate import Outcome
from bigmind.operations import USE_TOOL
from bigmind.transports.corrected_calls import correct
from bigmind.transports.mcp.request_context import RequestContext
from knowledge.context.reply_notices import hear_notices

BUDGETED = {"memory_start_session", "memory_get_context"}
"""Operations whose whole reply has a budget of tokens, so that nothing is added to it."""


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

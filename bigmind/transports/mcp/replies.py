"""Replies: what an operation returned or refused, as the result of a tool call."""

from collections.abc import Mapping
from typing import Any

from django.template.loader import render_to_string
from mcp import types

from bigmind.core.corrected_calls import repair
from bigmind.core.errors import BigMindError, Invalid
from bigmind.core.operations import Operation
from bigmind.gate import Outcome
from bigmind.transports.mcp.reply_notices import notices
from bigmind.transports.mcp.request_context import RequestContext


def reply_of(context: RequestContext, outcome: Outcome) -> types.CallToolResult:
    """Return the result of a tool call: the reply in markdown, followed by notices for the agent.

    Structured content comes only on request: clients show their model either that or the markdown, never both.
    """
    lines = [outcome.markdown().rstrip(), *outcome.notices, *notices(context, outcome.operation)]
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
    """Return a refusal: what is wrong, field by field, with an example, the call put right, and what to do next.

    The details for programs are in `_meta`: structured content would have to follow the tool's output schema. A client
    that shows its model the metadata of a refusal gets them on request alone.
    """
    problems = _with_examples(operation, refusal)
    call = repair(operation, arguments, refusal) if isinstance(refusal, Invalid) else ""
    shown = {"refusal": refusal, "problems": problems, "call": call}
    text = render_to_string("agent/refusal.md", shown, using="agent")
    error = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint, **refusal.details}
    if context.is_strict and not context.structured:
        return error_of(text, meta_of(context))
    return error_of(text, meta_of(context) | {"error": error | ({"problems": problems} if problems else {})})


def error_of(text: str, meta: dict[str, Any]) -> types.CallToolResult:
    """Return a tool error with this text."""
    return types.CallToolResult(content=[types.TextContent(text=text.strip())], is_error=True, _meta=meta)


def meta_of(context: RequestContext) -> dict[str, Any]:
    """Return the metadata of every result: the id of the request, and the end of the key if that is soon."""
    key = context.actor.key
    ending = {"keyEndsAt": key.ends_at.isoformat()} if key and key.ends_soon and key.ends_at else {}
    return {"requestId": context.request_id, **ending}


def _with_examples(operation: Operation, refusal: BigMindError) -> list[dict[str, Any]]:
    problems = refusal.problems if isinstance(refusal, Invalid) else []
    properties = operation.input_schema.get("properties", {}) if problems else {}
    return [{**problem, **_example(properties.get(problem.get("field"), {}))} for problem in problems]


def _example(schema: dict[str, Any]) -> dict[str, Any]:
    examples = schema.get("examples") or schema.get("enum")
    return {"example": examples[0]} if examples else {}

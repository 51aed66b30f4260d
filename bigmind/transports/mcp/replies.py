"""Replies: what an operation returned or refused, as the result of a tool call."""

from typing import Any

from django.template.loader import render_to_string
from mcp import types

from bigmind.core.errors import BigMindError, Invalid
from bigmind.core.operations import Operation
from bigmind.gate import Outcome
from bigmind.transports.mcp.notices import notices
from bigmind.transports.mcp.request_context import Turn


def reply_of(turn: Turn, outcome: Outcome) -> types.CallToolResult:
    """Return what an operation replied: markdown to read, and what the agent should know besides.

    Data goes along only where it was asked for: a model is shown either the data or the markdown, by its client.
    """
    lines = [outcome.markdown().rstrip(), *outcome.notices, *notices(turn, outcome.operation)]
    replayed = {"replayed": True} if outcome.replayed else {}
    noticed = {"notices": list(outcome.notices)} if outcome.notices else {}
    return types.CallToolResult(
        content=[types.TextContent(text="\n\n".join(lines))],
        structured_content=outcome.to_data() if turn.structured else None,
        _meta={**meta_of(turn), **replayed, **noticed},
    )


def refusal_of(turn: Turn, operation: Operation, refusal: BigMindError) -> types.CallToolResult:
    """Return a refusal: what is wrong, field by field, with an example, and what to do next.

    The details for programs are in `_meta`: structured content would have to follow the tool's output schema.
    """
    problems = _with_examples(operation, refusal)
    text = render_to_string("agent/refusal.md", {"refusal": refusal, "problems": problems}, using="agent")
    error = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint, **refusal.details}
    return error_of(text, meta_of(turn) | {"error": error | ({"problems": problems} if problems else {})})


def error_of(text: str, meta: dict[str, Any]) -> types.CallToolResult:
    """Return a tool error with this text."""
    return types.CallToolResult(content=[types.TextContent(text=text.strip())], is_error=True, _meta=meta)


def meta_of(turn: Turn) -> dict[str, Any]:
    """Return what every result says about itself: the id of the request, and when the key ends if that is soon."""
    key = turn.actor.key
    ending = {"keyEndsAt": key.ends_at.isoformat()} if key and key.ends_soon and key.ends_at else {}
    return {"requestId": turn.request_id, **ending}


def _with_examples(operation: Operation, refusal: BigMindError) -> list[dict[str, Any]]:
    problems = refusal.problems if isinstance(refusal, Invalid) else []
    properties = operation.input_schema().get("properties", {}) if problems else {}
    return [{**problem, **_example(properties.get(problem.get("field"), {}))} for problem in problems]


def _example(schema: dict[str, Any]) -> dict[str, Any]:
    examples = schema.get("examples") or schema.get("enum")
    return {"example": examples[0]} if examples else {}

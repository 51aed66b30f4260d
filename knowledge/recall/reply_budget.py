"""Fits the hits of a reply into the tokens that its caller allows: `max_tokens`."""

from dataclasses import replace
from typing import Annotated, Any, TypeVar

from django.template.loader import render_to_string
from pydantic import Field

from bigmind.text.token_counts import count_tokens, cut_to_tokens
from knowledge.search.excerpts import excerpt_of

MaxTokens = Annotated[
    int,
    Field(
        ge=100,
        le=100_000,
        description="Token limit of the reply.",
    ),
]
SHORTEST_EXCERPT = 16
CHARS_PER_TOKEN = 3
Reply = TypeVar("Reply", bound=Any)


def within_tokens(reply: Reply, budget: int | None, *, template: str, hit_template: str) -> Reply:
    """Return a reply with as many of its first hits as fit a budget, their excerpts shortened to an equal share.

    The first hit is always included, shortened as far as needed. Without a budget the reply is returned unchanged.

    Args:
        template: The template of the reply, below `templates/agent/`.
        hit_template: The template of one hit.
    """
    if budget is None:
        return reply
    left = budget - _cost(template, reply=replace(reply, items=[]))
    share = left // max(1, len(reply.items))
    kept: list[Any] = []
    for hit in reply.items:
        shorter = _shorten(hit, share, hit_template)
        cost = 1 + _cost(hit_template, hit=shorter)
        if kept and cost > left:
            break
        kept.append(shorter if cost <= left else _shorten(hit, left, hit_template, at_least=1))
        left -= cost
    return replace(reply, items=kept)


def _shorten(hit: Any, share: int, template: str, *, at_least: int = SHORTEST_EXCERPT) -> Any:
    """Return a hit whose excerpt is cut to the words it was found by, if it costs more than its share."""
    if _cost(template, hit=hit) < share:
        return hit
    room = max(at_least, share - 2 - _cost(template, hit=replace(hit, excerpt="")))
    around = excerpt_of(hit.excerpt, hit.matched, chars=room * CHARS_PER_TOKEN)
    return replace(hit, excerpt=cut_to_tokens(around, room))


def _cost(template: str, **context: Any) -> int:
    return count_tokens(render_to_string(f"agent/{template}", context, using="agent"))

"""Fits the hits of a reply into the tokens that its caller allows: `max_tokens`."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from django.template.loader import render_to_string
from pydantic import Field

from accounts.models import User
from bigmind.core.handles import read_handle
from bigmind.text.token_counts import count_tokens, cut_to_tokens
from knowledge.exposures.sent_lines import LineOwner
from knowledge.models import Fact
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
_WORD = re.compile(r"\w")


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


def text_sent(user: User, reply: Any, *, template: str, hit_template: str) -> tuple[str, Mapping[str, LineOwner]]:
    """Return a reply as an agent receives it, and the source of each of its lines.

    The marks around a text have none: those of other texts look the same.
    """
    owners: dict[str, LineOwner] = {}
    for hit in reply.items:
        owner = LineOwner(hit.kind, hit.id, _id_of_other(user, hit))
        for line in _render(hit_template, hit=hit).splitlines():
            if _WORD.search(line):
                owners.setdefault(line, owner)
    return _render(template, reply=reply).strip(), owners


def _id_of_other(user: User, hit: Any) -> str:
    """Return the id of the fact that the line of another one quotes."""
    found = read_handle(hit.may_contradict.partition(":")[0]) if hit.may_contradict else None
    if found is None:
        return ""
    other = Fact.objects.of(user).filter(pk__in=user.ids_of(int(found[1]))).first()
    return str(other.pk) if other else ""


def _shorten(hit: Any, share: int, template: str, *, at_least: int = SHORTEST_EXCERPT) -> Any:
    """Return a hit whose excerpt is cut to the words it was found by, if it costs more than its share."""
    if _cost(template, hit=hit) < share:
        return hit
    room = max(at_least, share - 2 - _cost(template, hit=replace(hit, excerpt="")))
    around = excerpt_of(hit.excerpt, hit.matched, chars=room * CHARS_PER_TOKEN)
    return replace(hit, excerpt=cut_to_tokens(around, room))


def _cost(template: str, **context: Any) -> int:
    return count_tokens(_render(template, **context))


def _render(template: str, **context: Any) -> str:
    return render_to_string(f"agent/{template}", context, using="agent")

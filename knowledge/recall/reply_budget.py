"""Fits the hits of a reply into the tokens that its caller allows: `max_tokens`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from django.template.loader import get_template, render_to_string
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.handles import read_handle
from bigmind.text.hygiene import Told
from bigmind.text.token_counts import count_tokens, cut_to_tokens
from knowledge.exposures.exposures import Exposure
from knowledge.exposures.ledgers import Sent, note_sent
from knowledge.exposures.recent_questions import QuestionRecord
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
    """Return a reply with as many of its first hits as fit a budget; without one unchanged: see `fit_hits`."""
    if budget is None:
        return reply
    fitting = fit_hits(reply, budget, template=template, hit_template=hit_template)
    return replace(reply, items=[hit for hit, _ in fitting])


def fit_hits(reply: Any, budget: int | None, *, template: str, hit_template: str) -> list[tuple[Any, str]]:
    """Return as many of the first hits of a reply as fit a budget, each with its line, shortened to an equal share.

    The first hit is always included, shortened as far as needed.

    Args:
        template: The template of the reply, below `templates/agent/`.
        hit_template: The template of one hit.
    """
    if budget is None:
        render = get_template(f"agent/{hit_template}", using="agent").render
        return [(hit, render({"hit": hit})) for hit in reply.items]
    left = budget - count_tokens(_render(template, reply=replace(reply, items=[])))
    share = left // max(1, len(reply.items))
    render = get_template(f"agent/{hit_template}", using="agent").render
    fitting: list[tuple[Any, str]] = []
    for hit in reply.items:
        shorter, line = hit, render({"hit": hit})
        cost = 1 + count_tokens(line)
        if cost > share:
            shorter, line = _shorten(hit, share, hit_template)
            cost = 1 + count_tokens(line)
        if fitting and cost > left:
            break
        fitting.append((shorter, line) if cost <= left else _shorten(hit, left, hit_template, at_least=1))
        left -= cost
    return fitting


def send(actor: Actor, reply: Reply, lines: Sequence[str], question: QuestionRecord | None, *, template: str) -> Reply:
    """Put a reply in words, whose hits have these lines, note that it was sent, and return it."""
    text = _render(template, reply=reply, lines=Told("".join(lines))).strip()
    exposures = [Exposure(hit.kind, hit.id) for hit in reply.items]
    note_sent(Sent(actor, exposures, question, lambda: (text, _owners_of(actor.user, reply.items, lines))))
    return replace(reply, as_sent=text)


def _owners_of(user: User, hits: Iterable[Any], lines: Iterable[str]) -> dict[str, LineOwner]:
    """Return the source of each line. The marks around a text have none: those of other texts look the same."""
    owners: dict[str, LineOwner] = {}
    for hit, text in zip(hits, lines, strict=True):
        owner = LineOwner(hit.kind, hit.id, _id_of_other(user, hit))
        for line in text.splitlines():
            if _WORD.search(line):
                owners.setdefault(line, owner)
    return owners


def _id_of_other(user: User, hit: Any) -> str:
    """Return the id of the fact that the line of another one quotes."""
    found = read_handle(hit.may_contradict.partition(":")[0]) if hit.may_contradict else None
    if found is None:
        return ""
    other = Fact.objects.of(user).filter(pk__in=user.ids_of(int(found[1]))).first()
    return str(other.pk) if other else ""


def _shorten(hit: Any, share: int, template: str, *, at_least: int = SHORTEST_EXCERPT) -> tuple[Any, str]:
    """Return a hit and its line, the excerpt cut to the words it was found by, so that it costs its share."""
    room = max(at_least, share - 2 - count_tokens(_render(template, hit=replace(hit, excerpt=""))))
    around = excerpt_of(hit.excerpt, hit.matched, chars=room * CHARS_PER_TOKEN)
    shorter = replace(hit, excerpt=cut_to_tokens(around, room))
    return shorter, _render(template, hit=shorter)


def _render(template: str, **context: Any) -> str:
    return render_to_string(f"agent/{template}", context, using="agent")

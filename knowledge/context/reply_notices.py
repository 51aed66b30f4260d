"""Notices: lines that an agent receives once, beside the reply to whatever it calls next. A start counts them."""

from datetime import timedelta
from itertools import accumulate

from django.core.cache import cache
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import ApiKey
from bigmind.database.fixed_queries import Asked, FixedQuery
from bigmind.text.token_counts import count_tokens, cut_to_tokens
from knowledge.conversation.current_sessions import session_at_work
from knowledge.memory.facts import StoredFact
from knowledge.models import Recall
from knowledge.truth.near_duplicates import read_comparison

from .budget import NOTICES_TOKENS

DAY = 24 * 60 * 60
KEY_ENDS = "The API key of this connection stops working on {:%Y-%m-%d %H:%M %Z}. Tell the user to make a new one."
MOST_SHOWN = 20
"""Notices of one reply at most; the next reply goes on."""
WHY_TOKENS = 60
"""The most of a reason that one line has."""
ENDED = timedelta(minutes=1)
"""How long after its end a session is still sent a notice: the reply to its end is one, too."""

_WAITING = FixedQuery(
    lambda user_id, agent_id, lately: Recall.objects.filter(
        Q(session__ended_at=None) | Q(session__ended_at__gt=lately), user=user_id, agent=agent_id, told_at=None
    ).order_by("pk")
)


def hear_notices(actor: Actor) -> list[str]:
    """Return what was withdrawn, what stored facts contradict, and a key that ends soon; each once, within a budget."""
    query, values = ask_waiting(actor)
    return say_notices(actor, query(*values) if actor.is_agent else [])


def ask_waiting(actor: Actor) -> Asked:
    """Return the query for the notices that wait for an agent."""
    return _WAITING, (actor.user.pk, actor.agent.pk if actor.agent else None, timezone.now() - ENDED)


def say_notices(actor: Actor, waiting: list[Recall]) -> list[str]:
    """Return the lines of notices that wait, and one of a key that ends soon."""
    lines = _say_waiting(actor, waiting) if waiting else []
    if actor.key and _ends_soon(actor.key):
        assert actor.key.ends_at is not None, "a key that ends soon has an end"
        lines.append(KEY_ENDS.format(timezone.localtime(actor.key.ends_at)))
    return lines


def _say_waiting(actor: Actor, waiting: list[Recall]) -> list[str]:
    # Where the conversation is known, the notices of a second window are not for it.
    if session := session_at_work(actor):
        waiting = [notice for notice in waiting if notice.session_id == session.pk]
    lines = [(notice, _words_of(notice)) for notice in waiting[:MOST_SHOWN]]
    costs = accumulate(count_tokens(f"{line}\n\n") for _, line in lines)
    fitting = [
        one for at, (one, cost) in enumerate(zip(lines, costs, strict=True)) if at == 0 or cost <= NOTICES_TOKENS
    ]
    # Of two concurrent calls only one reports it: the UPDATE of the other finds no row.
    sent = [
        line
        for notice, line in fitting
        if Recall.objects.filter(pk=notice.pk, told_at=None).update(told_at=timezone.now())
    ]
    return list(dict.fromkeys(filter(None, sent)))


def _words_of(notice: Recall) -> str:
    if notice.found is None:
        return (
            f"[{notice.handle}], which this session was told, was recalled: {cut_to_tokens(notice.why, WHY_TOKENS)} "
            "Do not rely on it, and tell the user what you based on it."
        )
    compared = read_comparison(notice.found)
    if compared is None:
        return ""
    reply = StoredFact(compared[0], duplicate=False, similar=compared[1])
    return render_to_string("agent/fact_compared.md", {"reply": reply}, using="agent").strip()


def _ends_soon(key: ApiKey) -> bool:
    return key.ends_soon and cache.add(f"mcp:key-ends:{key.pk}", True, DAY)

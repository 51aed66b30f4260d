"""Notices: lines that an agent receives once a day in addition to a reply."""

from django.core.cache import cache

from accounts.models import ApiKey
from bigmind.core.operations import Operation
from bigmind.core.rls import rls_scope
from bigmind.transports.mcp.request_context import RequestContext
from knowledge.models import Session
from knowledge.services.near_duplicates import hear_contradictions
from knowledge.services.withdrawals import hear_recalls

DAY = 24 * 60 * 60
STARTS = "memory_start_session"

FORGOT_TO_START = (
    "No session is open: call memory_start_session first in every conversation, "
    "so that you know what is remembered and what you store belongs to it."
)
KEY_ENDS = "The API key of this connection stops working on {:%Y-%m-%d %H:%M} UTC. Tell the user to make a new one."


def notices(context: RequestContext, operation: Operation) -> list[str]:
    """Return the lines to add to a reply: withdrawals, contradictions, a missing session, a key that expires soon."""
    lines = [*hear_recalls(context.actor), *hear_contradictions(context.actor)] if context.actor.is_agent else []
    if _forgot_to_start(context, operation):
        lines.append(FORGOT_TO_START)
    key = context.actor.key
    if key and _ends_soon(key):
        assert key.ends_at is not None, "a key that ends soon has an end"
        lines.append(KEY_ENDS.format(key.ends_at))
    return lines


def _forgot_to_start(context: RequestContext, operation: Operation) -> bool:
    """Whether this agent works without a session and has not been reminded today.

    Starting a session sets the same mark as the reminder, so a well-behaved agent costs no query here.
    """
    agent = context.actor.agent
    if agent is None:
        return False
    mark = f"mcp:started:{agent.pk}"
    if operation.name == STARTS:
        cache.set(mark, True, DAY)
        return False
    if not cache.add(mark, True, DAY):
        return False
    with rls_scope(context.actor.user.pk):
        return not Session.objects.of(context.actor.user).open().filter(agent=agent).exists()


def _ends_soon(key: ApiKey) -> bool:
    return key.ends_soon and cache.add(f"mcp:key-ends:{key.pk}", True, DAY)

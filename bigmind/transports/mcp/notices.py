"""Notices: what an agent is told once a day besides the reply it asked for."""

from django.core.cache import cache

from accounts.models import ApiKey
from bigmind.core.operations import Operation
from bigmind.core.rls import rls_scope
from bigmind.transports.mcp.request_context import Turn
from knowledge.models import Session
from knowledge.services.withdrawals import hear_recalls

DAY = 24 * 60 * 60
STARTS = "memory_start_session"

FORGOT_TO_START = (
    "No session is open: call memory_start_session first in every conversation, "
    "so that you know what is remembered and what you store belongs to it."
)
KEY_ENDS = "The API key of this connection stops working on {:%Y-%m-%d %H:%M} UTC. Tell the user to make a new one."


def notices(turn: Turn, operation: Operation) -> list[str]:
    """Return the lines to add to a reply: what was recalled, that no session was started, that the key ends."""
    lines = hear_recalls(turn.actor) if turn.actor.key or turn.actor.agent else []
    if _forgot_to_start(turn, operation):
        lines.append(FORGOT_TO_START)
    key = turn.actor.key
    if key and _ends_soon(key):
        assert key.ends_at is not None, "a key that ends soon has an end"
        lines.append(KEY_ENDS.format(key.ends_at))
    return lines


def _forgot_to_start(turn: Turn, operation: Operation) -> bool:
    """Whether this agent works without a session and was not told so today.

    Starting a session leaves the same mark as being told, so a well-behaved agent costs no query here.
    """
    agent = turn.actor.agent
    if agent is None:
        return False
    mark = f"mcp:started:{agent.pk}"
    if operation.name == STARTS:
        cache.set(mark, True, DAY)
        return False
    if not cache.add(mark, True, DAY):
        return False
    with rls_scope(turn.actor.user.pk):
        return not Session.objects.of(turn.actor.user).open().filter(agent=agent).exists()


def _ends_soon(key: ApiKey) -> bool:
    return key.ends_soon and cache.add(f"mcp:key-ends:{key.pk}", True, DAY)

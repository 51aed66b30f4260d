"""Notices: lines that an agent receives once a day in addition to a reply."""

from django.core.cache import cache

from accounts.models import ApiKey
from bigmind.transports.mcp.request_context import RequestContext
from knowledge.services.withdrawals import hear_recalls

DAY = 24 * 60 * 60
KEY_ENDS = "The API key of this connection stops working on {:%Y-%m-%d %H:%M} UTC. Tell the user to make a new one."


def notices(context: RequestContext) -> list[str]:
    """Return the lines to add to a reply: withdrawals, a key that expires soon."""
    lines = hear_recalls(context.actor) if context.actor.is_agent else []
    key = context.actor.key
    if key and _ends_soon(key):
        assert key.ends_at is not None, "a key that ends soon has an end"
        lines.append(KEY_ENDS.format(key.ends_at))
    return lines


def _ends_soon(key: ApiKey) -> bool:
    return key.ends_soon and cache.add(f"mcp:key-ends:{key.pk}", True, DAY)

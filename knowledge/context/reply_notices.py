"""Notices: lines that an agent receives once, beside the reply to whatever it calls next. A start counts them."""

from django.core.cache import cache

from accounts.actor import Actor
from accounts.models import ApiKey
from knowledge.exposures.withdrawals import hear_recalls

from .budget import NOTICES_TOKENS

DAY = 24 * 60 * 60
KEY_ENDS = "The API key of this connection stops working on {:%Y-%m-%d %H:%M} UTC. Tell the user to make a new one."


def hear_notices(actor: Actor) -> list[str]:
    """Return what was withdrawn and a key that expires soon, each only once, within `NOTICES_TOKENS`."""
    lines = hear_recalls(actor, most_tokens=NOTICES_TOKENS) if actor.is_agent else []
    if actor.key and _ends_soon(actor.key):
        assert actor.key.ends_at is not None, "a key that ends soon has an end"
        lines.append(KEY_ENDS.format(actor.key.ends_at))
    return lines


def _ends_soon(key: ApiKey) -> bool:
    return key.ends_soon and cache.add(f"mcp:key-ends:{key.pk}", True, DAY)

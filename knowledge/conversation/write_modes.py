"""How an agent may write: as its user chose, and not at all with a key or an instance that only reads."""

from typing import cast

from accounts.actor import Actor
from bigmind.core.agent_rules import Writing
from bigmind.database.fixed_queries import FixedQuery
from bigmind.database.read_only import is_read_only
from knowledge.models import CaptureMode, CapturePolicy

_MODE = FixedQuery(lambda user_id: CapturePolicy.objects.filter(user=user_id).values_list("mode")[:1])


def writing_of(actor: Actor) -> Writing:
    """Return how memory is written when this actor acts."""
    if "write" not in actor.scopes or is_read_only():
        return "read_only"
    chosen = _MODE(actor.user.pk)
    return cast("Writing", chosen[0][0] if chosen else str(CaptureMode.AUTOMATIC))

"""Calls: the usage log."""

from time import monotonic
from typing import Any

from django.db import connection

from accounts.actor import Actor
from bigmind.database.change_notifications import CHANNEL, Change

from .call_batches import BATCH, CallRow

_RECORD = """
WITH not_waiting AS (
    SELECT set_config(
        'synchronous_commit', CASE WHEN %s THEN current_setting('synchronous_commit') ELSE 'off' END, true
    ), CASE WHEN %s THEN pg_notify(%s, %s)::text END
)
INSERT INTO accounts_call (
    user_id, key_id, agent_id, operation, door, outcome, milliseconds, tokens, request_id, at
)
SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s, now() FROM not_waiting
"""


def record_call(
    actor: Actor,
    *,
    operation: str,
    door: str,
    outcome: str,
    milliseconds: float,
    request_id: str,
    tokens: int | None = None,
    change: Change | None = None,
) -> None:
    """Write one row of the usage log, and tell all processes what the call changed.

    Both can be lost in a crash: no reply waits until they have reached the disk. A call that changed nothing waits for
    others, where the process writes them down together.

    It is one statement, because every call pays for it. The statement turns off `synchronous_commit` for its own
    transaction. Inside another transaction it must not, or a crash could lose the write of that transaction as well.
    """
    key_id, agent_id = actor.key.pk if actor.key else None, actor.agent.pk if actor.agent else None
    row = CallRow(
        actor.user.pk, key_id, agent_id, operation, door, outcome, milliseconds, tokens, request_id, monotonic()
    )
    if BATCH.is_on and change is None:
        BATCH.add(row)
        return
    *values, _ = row
    with connection.cursor() as cursor:
        told: list[Any] = [change is not None, CHANNEL, change.text() if change else ""]
        cursor.execute(_RECORD, [connection.in_atomic_block, *told, *values])

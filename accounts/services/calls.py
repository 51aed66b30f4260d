"""Calls: the usage log. A process that serves writes down the calls of the last moment together (decision 63)."""

import json
from collections.abc import Sequence
from time import monotonic
from typing import Any, NamedTuple

from django.db import connection

from accounts.actor import Actor
from bigmind.core.after_reply import AFTER_REPLY
from bigmind.database.change_notifications import CHANNEL, Change
from bigmind.database.postgresql.kept_plans import Repeated, Statement, Together

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
# Anyone who was deleted meanwhile is not written of; of a key or an agent that was, no more is known.
_WRITE_DOWN = Repeated(
    """
WITH not_waiting AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO accounts_call (
    user_id, key_id, agent_id, operation, door, outcome, milliseconds, tokens, request_id, at
)
SELECT person.id, (SELECT id FROM accounts_apikey WHERE id = key_id),
    (SELECT id FROM accounts_agent WHERE id = agent_id), operation, transport, outcome, milliseconds, tokens,
    request_id, now() - make_interval(secs => ago)
FROM not_waiting, jsonb_to_recordset(%s) AS call(
    user_id uuid, key_id uuid, agent_id bigint, operation text, transport text, outcome text, milliseconds float8,
    tokens int, request_id text, ago float8
)
JOIN accounts_user AS person ON person.id = user_id
ORDER BY ago DESC
""",
    (0,),
)
_ANNOUNCE = "SELECT pg_notify(%s, change) FROM unnest(%s::text[]) AS change"


class CallRow(NamedTuple):
    """A row of the usage log; `at` is when it was made, by the clock that nobody sets, `change` what it changed."""

    user_id: Any
    key_id: Any
    agent_id: Any
    operation: str
    transport: str
    outcome: str
    milliseconds: float
    tokens: int | None
    request_id: str
    at: float
    change: str | None = None


def record_call(
    actor: Actor,
    *,
    operation: str,
    transport: str,
    outcome: str,
    milliseconds: float,
    request_id: str,
    tokens: int | None = None,
    change: Change | None = None,
) -> None:
    """Write one row of the usage log, and tell all processes what the call changed.

    Both can be lost in a crash: no reply waits until they have reached the disk. A call waits for others, where the
    process writes them down together.

    Elsewhere it is one statement. The statement turns off `synchronous_commit` for its own
    transaction. Inside another transaction it must not, or a crash could lose the write of that transaction as well.
    """
    key_id, agent_id = actor.key.pk if actor.key else None, actor.agent.pk if actor.agent else None
    row = CallRow(
        actor.user.pk, key_id, agent_id, operation, transport, outcome, milliseconds, tokens, request_id, monotonic()
    )
    if AFTER_REPLY.is_on and not connection.in_atomic_block:
        AFTER_REPLY.add(_write_down, row._replace(change=change.text() if change else None))
        return
    *values, _, _ = row
    with connection.cursor() as cursor:
        announcement: list[Any] = [change is not None, CHANNEL, change.text() if change else ""]
        cursor.execute(_RECORD, [connection.in_atomic_block, *announcement, *values])


def _write_down(rows: Sequence[CallRow]) -> None:
    now, announced = monotonic(), sorted({row.change for row in rows if row.change is not None})
    calls = json.dumps([{**row._asdict(), "ago": now - row.at} for row in rows], default=str)
    statements: list[Statement] = [(_WRITE_DOWN, (calls,))]
    if announced:
        statements.append((_ANNOUNCE, (CHANNEL, announced)))
    with connection.cursor() as cursor:
        cursor.execute(Together(statements))

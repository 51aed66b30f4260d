"""The usage log in batches: a process that serves writes down the reads of the last moment together.

Rows of the last moment may be lost in a crash; no reply waits until one has reached the disk anyway. What a write
changed is sent with its row, so that one is written at once. Decision 63.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, NamedTuple

from django.db import connection

WRITTEN_EVERY = 0.2
"""Seconds after which pages and metrics know of a call."""
MOST_WAITING = 20_000
MOST_TOGETHER = 1_000

# Anyone who was deleted meanwhile is not written of; of a key or an agent that was, no more is known.
_WRITE = """
WITH not_waiting AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO accounts_call (
    user_id, key_id, agent_id, operation, door, outcome, milliseconds, tokens, request_id, at
)
SELECT person.id, key.id, agent.id, operation, door, outcome, milliseconds, tokens, request_id,
    now() - make_interval(secs => ago)
FROM not_waiting, unnest(
    %s::uuid[], %s::uuid[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::float8[], %s::int[], %s::text[],
    %s::float8[]
) WITH ORDINALITY AS call(
    user_id, key_id, agent_id, operation, door, outcome, milliseconds, tokens, request_id, ago, ordinal
)
JOIN accounts_user AS person ON person.id = call.user_id
LEFT JOIN accounts_apikey AS key ON key.id = call.key_id
LEFT JOIN accounts_agent AS agent ON agent.id = call.agent_id
ORDER BY ordinal
"""


class CallRow(NamedTuple):
    """A row of the usage log; `at` is when it was made, by the clock that nobody sets."""

    user_id: Any
    key_id: Any
    agent_id: Any
    operation: str
    door: str
    outcome: str
    milliseconds: float
    tokens: int | None
    request_id: str
    at: float


class CallBatch:
    """The calls that wait to be written down in this process."""

    def __init__(self) -> None:
        self.is_on = False
        self._waiting: deque[CallRow] = deque(maxlen=MOST_WAITING)

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Let calls wait inside this block; the one who opened it calls `write` now and then, and at the end."""
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, row: CallRow) -> None:
        """Let a call wait. With too many, the oldest is forgotten."""
        self._waiting.append(row)

    def write(self) -> None:
        """Write down what waits."""
        while rows := self._take():
            *columns, at = map(list, zip(*rows, strict=True))
            now = monotonic()
            with connection.cursor() as cursor:
                cursor.execute(_WRITE, [*columns, [now - moment for moment in at]])

    def _take(self) -> Sequence[CallRow]:
        return [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]


BATCH = CallBatch()

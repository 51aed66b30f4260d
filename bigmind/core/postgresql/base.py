"""The backend that `DATABASES` names: Django's own, but for how it asks a connection whether it still lives."""

import select
from time import monotonic
from typing import Any

from django.db.backends.postgresql import base
from psycopg import Connection

RESTED_SECONDS = 1.0


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL that is looked at before it is asked.

    Django sends `SELECT 1` before the first statement of each request. A call over MCP does that twice, on an idle
    machine half a millisecond each. A server that has gone away leaves its last words, or the end of the stream, in the
    socket: where nothing is there to read, and the connection was in use a moment ago, it lives.
    """

    health_check_enabled: bool
    health_check_done: bool
    _last_seen = 0.0

    def close_if_health_check_failed(self) -> None:
        """Close the connection if it lives no more: by a look if it was just in use, else by a statement."""
        if self.connection is not None and self.health_check_enabled and not self.health_check_done:
            now = monotonic()
            self.health_check_done = now - self._last_seen < RESTED_SECONDS and _is_quiet(self.connection)
            self._last_seen = now
        super().close_if_health_check_failed()


def _is_quiet(connection: Connection[Any]) -> bool:
    """Whether nothing has come from the server: neither words nor the end."""
    if connection.closed:
        return False
    looker = select.poll()
    looker.register(connection.fileno(), select.POLLIN)
    return not looker.poll(0)

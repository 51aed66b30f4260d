"""The backend that `DATABASES` names: Django's own, but each transaction says whose private rows it may see."""

import re
import select
from collections.abc import Iterable
from datetime import UTC
from functools import cache
from time import monotonic
from typing import Any, Self

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.postgresql import base
from psycopg import ClientCursor, Connection, OperationalError
from psycopg.abc import AdaptContext, Query
from psycopg.adapt import AdaptersMap, Loader
from psycopg.errors import FeatureNotSupported, IdleInTransactionSessionTimeout, InvalidSqlStatementName
from psycopg.postgres import types
from psycopg.pq import Format, TransactionStatus
from psycopg.sql import Composable

from bigmind.database.postgresql.kept_plans import JOINS_IN_ORDER, KeptPlans, Repeated, Together
from bigmind.database.rls import FIRST, NOBODY, SETTING, token_of

RESTED_SECONDS = 1.0
"""A connection that rested longer is asked: a firewall that dropped it leaves nothing in the socket to be looked at."""
REPLICA = "replica"
"""The name of the connection to the replica, where one is set (bigmind/database/replicas.py)."""

# They touch no row, and some of them PostgreSQL runs only by themselves.
_WITHOUT_ROWS = re.compile(r"(?i)\s*+(?:ALTER|ANALYZE|CREATE|DROP|GRANT|REINDEX|RESET|REVOKE|SET|SHOW|VACUUM)\b")
# Whether the process at the other end is the one that the server named when we connected: behind a pool it is not.
_BEGIN_SESSION = "SELECT pg_backend_pid() = {pid}"
_KEEP = ", CASE WHEN pg_backend_pid() = {pid} THEN set_config('{name}', '{value}', false) END"


_MOMENTS = types["timestamptz"].oid


class UtcLoader(Loader):
    """Reads moments by what psycopg brings: sessions are in UTC, where Django's own takes ten times as long.

    Django looks at `timezone`, and where it is another one registers its own.
    """

    timezone = UTC

    def __new__(cls, oid: int, context: AdaptContext | None = None) -> Any:
        """Make one of psycopg's, which may be written in C and has no subclasses."""
        return psycopg.adapters.get_loader(_MOMENTS, Format.TEXT)(oid, context)  # type: ignore[misc]


@cache
def _with_quick_moments(adapters: AdaptersMap) -> AdaptersMap:
    quick = AdaptersMap(adapters)
    quick.register_loader("timestamptz", UtcLoader)  # type: ignore[type-abstract]
    return quick


class Cursor(ClientCursor[Any]):
    """A cursor that sends, before a statement and in its message, what the statement's transaction has to know."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        """Execute a statement as the one whose rows the connection is to see."""
        wrapper: DatabaseWrapper | None = getattr(self._conn, "wrapper", None)
        if wrapper is None:
            return super().execute(query, params, **options)
        statement, values = query, params
        if not wrapper.is_pooled:
            if wrapper.kept.due and wrapper.is_between_transactions:
                # Without saying whose rows are seen: PREPARE reads none.
                wrapper.kept.prepare(super().execute)
            if isinstance(query, Repeated):
                statement, values = wrapper.kept.call(query, params)
            elif isinstance(query, Together):
                statement, values = query.as_one(wrapper.kept.call)
        elif isinstance(query, Together):
            statement, values = query.as_one()
        before = wrapper.statements_before(statement)
        # Several statements of one message are one transaction, and one round trip.
        first = f"{';'.join(before)};" if before else ""
        text = statement.as_string(self) if first and isinstance(statement, Composable) else statement
        if first:
            text = first.encode() + text if isinstance(text, bytes) else first + text
        try:
            super().execute(text, values, **options)
        except IdleInTransactionSessionTimeout as error:
            # The session has ended, as with a server that went away. Django would take this one for a fault of ours.
            raise OperationalError(*error.args) from error
        except (FeatureNotSupported, InvalidSqlStatementName):
            if statement == query:
                raise
            # A column that it returns has another type or length since it was prepared.
            wrapper.kept.forget(query)
            if not wrapper.is_between_transactions:
                raise
            return self.execute(query, params, **options)
        for _ in before:
            self.nextset()
        return self

    def executemany(self, query: Query, params_seq: Iterable[Any], **options: Any) -> None:
        """Execute a statement for each of the parameters, inside a transaction that has begun."""
        self._begin()
        super().executemany(query, params_seq, **options)

    def copy(self, statement: Any, params: Any = None, **options: Any) -> Any:
        """Copy rows, inside a transaction that has begun: COPY comes in a message of its own."""
        self._begin()
        return super().copy(statement, params, **options)

    def _begin(self) -> None:
        if self._conn.wrapper.in_atomic_block:  # type: ignore[attr-defined]
            self.execute("SELECT 1")


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL that tells each transaction whose rows it sees, and is looked at before it is asked.

    Whose rows they are is kept here, and goes out with the first statement of each transaction. Nothing of it stays in
    the session, so a pool such as PgBouncer may hand every transaction to another one. What goes before a statement
    travels in its message and takes no round trip of its own; the one of BEGIN is saved as well.

    Django sends `SELECT 1` before the first statement of each request. A call over MCP does that twice, on an idle
    machine half a millisecond each. A server that has gone away leaves its last words, or the end of the stream, in the
    socket: where nothing is there to read, and the connection was in use a moment ago, it lives.

    A session keeps the plans of statements that are repeated; not behind a pool, which hands out other sessions.

    Attributes:
        sees: Whose rows the next statements see; None is what connections of this process begin with.
        kept: The statements that the session keeps.
        is_pooled: Whether a pool stands before the server, and hands transactions to whichever session is free.
    """

    health_check_enabled: bool
    health_check_done: bool
    sees: str | None = None
    kept: KeptPlans
    is_pooled = False
    _last_seen = 0.0
    _told = NOBODY
    _due: tuple[str, ...] = ()

    def get_connection_params(self) -> dict[str, Any]:
        """Return what psycopg connects with; the limits are for sessions, which pools do not let everyone begin."""
        params: dict[str, Any] = super().get_connection_params()
        params.pop("limits", None)
        if self.timezone is UTC:
            params["context"] = _with_quick_moments(params["context"])
        return {**params, "cursor_factory": Cursor}

    def init_connection_state(self) -> None:
        """Set the limits of the session, unless it is one of a pool that others get next."""
        super().init_connection_state()
        assert self.connection is not None
        pid, self._told, self.kept = self.connection.info.backend_pid, NOBODY, KeptPlans()
        self._due = ()
        limits = "".join(_KEEP.format(pid=pid, name=name, value=value) for name, value in self._limits.items())
        row = self.connection.execute(_BEGIN_SESSION.format(pid=pid) + limits).fetchone()
        self.is_pooled = not row[0]
        self.connection.wrapper = self

    @property
    def is_between_transactions(self) -> bool:
        """Whether no transaction has begun; one that is about to begin does so with its first statement."""
        return bool(self.connection.info.transaction_status == TransactionStatus.IDLE and self.connection.autocommit)

    def statements_before(self, query: Any) -> list[str]:
        """Return what goes before a statement: BEGIN if it is due, whose rows it sees, the limits behind a pool."""
        status = self.connection.info.transaction_status
        if status == TransactionStatus.INERROR:
            return []  # Only the end of the transaction is accepted.
        before: list[str] = []
        begins = status == TransactionStatus.IDLE
        if begins:
            # What SET LOCAL had set ended with its transaction.
            self._told = NOBODY
            if self.in_atomic_block and self.connection.autocommit:
                before.append("BEGIN")
            elif isinstance(query, str) and _WITHOUT_ROWS.match(query):
                return []
        # `rls_scope` notes whose rows they are on the connection to the primary. Decision 68.
        asks = connections[DEFAULT_DB_ALIAS] if self.alias == REPLICA else self
        whom = asks.sees or FIRST.sees  # type: ignore[attr-defined]
        if whom != self._told:
            token = token_of(whom, None if self.is_pooled else self.connection.info.backend_pid)
            before.append(f"SET LOCAL {SETTING} = '{token}'")
            self._told = whom
        if self._due:
            before.extend(self._due)
            self._due = ()
        # Only alone: else it would hold for what follows in the transaction, too.
        if begins and not self.in_atomic_block and isinstance(query, str) and query.startswith(JOINS_IN_ORDER):
            before.append("SET LOCAL join_collapse_limit = 1")
        if begins and self.is_pooled:
            limits = ((name.removeprefix("default_"), value) for name, value in self._limits.items())
            before += [f"SET LOCAL {name} = '{value}'" for name, value in limits]
        return before

    def close_if_unusable_or_obsolete(self) -> None:
        """Close the connection if it is dead: its socket tells if it was in use a moment ago, else a statement will.

        Django calls this before and after each request.
        """
        super().close_if_unusable_or_obsolete()
        if self.connection is not None and self.health_check_enabled and not self.health_check_done:
            now = monotonic()
            self.health_check_done = now - self._last_seen < RESTED_SECONDS and _is_quiet(self.connection)
            self._last_seen = now

    def _start_transaction_under_autocommit(self) -> None:
        """Leave BEGIN to the first statement. Django calls this where a database begins transactions by a statement."""

    def send_before_next(self, statement: str) -> None:
        """Let a statement without an answer travel with the next one of this transaction, if there is one."""
        self._due += (statement,)

    # A savepoint and its release travel with the next statement, too. One around which nothing was sent never does.
    def _savepoint(self, sid: str) -> None:
        self._due += (self.ops.savepoint_create_sql(sid),)

    def _savepoint_commit(self, sid: str) -> None:
        if (begin := self.ops.savepoint_create_sql(sid)) in self._due:
            self._due = self._due[: self._due.index(begin)]
        else:
            self._due += (self.ops.savepoint_commit_sql(sid),)

    def _savepoint_rollback(self, sid: str) -> None:
        if (begin := self.ops.savepoint_create_sql(sid)) in self._due:
            self._due = self._due[: self._due.index(begin) + 1]
            return
        self._due = ()
        super()._savepoint_rollback(sid)  # type: ignore[misc]
        self._told = ""  # What was set after the savepoint is as it was before.

    def _commit(self) -> None:
        self._due = ()
        super()._commit()  # type: ignore[misc]

    def _rollback(self) -> None:
        self._due = ()
        super()._rollback()  # type: ignore[misc]

    @property
    def _limits(self) -> dict[str, str]:
        limits: dict[str, str] = self.settings_dict["OPTIONS"].get("limits", {})
        return limits


def _is_quiet(connection: Connection[Any]) -> bool:
    """Whether nothing has come from the server: neither words nor the end."""
    if connection.closed:
        return False
    # Not `select.select`, which takes no descriptor above 1,023: a web process may have more.
    looker = select.poll()
    looker.register(connection.fileno(), select.POLLIN)
    return not looker.poll(0)

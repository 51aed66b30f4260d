"""The replica (BIGMIND_DATABASE_REPLICA_URL): which reads it answers, so that nobody misses what they just wrote.

How far a person has written is kept in the shared cache for a while, as a place in the journal of the primary (LSN).
The replica answers a read of that person when it has come so far, and as far as the primary was some seconds ago.
In every other case the primary answers: inside a transaction, after a write, while the replica or the cache is away.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from threading import local
from time import monotonic, time
from typing import Any, TypeVar
from uuid import UUID

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    InterfaceError,
    OperationalError,
    connection,
    connections,
    transaction,
)
from django.db.backends.utils import CursorWrapper
from django.db.models import Model
from psycopg.errors import QueryCanceled

from bigmind.database.postgresql.base import REPLICA
from bigmind.database.read_only import is_refused_write

KEPT_SECONDS = 30
"""How long we remember how far a user has written. By then the replica has it, or is too far behind to answer."""
BEHIND_SECONDS = 10.0
"""How old an answer may be in what others have written. Decision 68."""
LOOK_AGAIN_SECONDS = 1.0
LEAVE_ALONE_SECONDS = 5.0
"""A replica that is away takes two seconds to refuse (`connect_timeout` in the settings), and each read would wait."""
# As numbers: the cache can add to one, and compares nothing. Decision 68.
WRITTEN = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
REPLAYED = "SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint WHERE pg_is_in_recovery()"
_BY_ANYBODY = "written:for-all"
_KNOWN_SINCE = "written:since"
"""Since when the cache has kept what was written: one that was emptied, or away, does not know what came before."""

Reply = TypeVar("Reply")

log = structlog.get_logger()


@dataclass
class _Reading:
    """A read that the replica answers, as long as it writes nothing and the replica does not fail."""

    has_written: bool = False
    has_failed: bool = False


class _Session(local):
    """How far the replica had come at the last look, through the connection of this thread."""

    connection: Any = None
    position = 0


class _Process:
    """What this process knows of the primary and of the replica.

    Attributes:
        places: Where the primary was, and when, in the last seconds.
        left_alone_until: When the replica is asked again.
        has_lost: Whether the cache failed to store how far the user has written.
    """

    def __init__(self) -> None:
        self.places: deque[tuple[float, int]] = deque(maxlen=100)
        self.left_alone_until = 0.0
        self.has_lost = False


_reading: ContextVar[_Reading | None] = ContextVar("_reading", default=None)
_session = _Session()
_process = _Process()


class ReadsByReplica:
    """Routes the queries of a read that the replica answers, and everything else to the primary."""

    def db_for_read(self, model: type[Model], **hints: object) -> str:
        """Return the replica inside such a read, else the primary, also for what hangs on a row of the replica."""
        return read_alias()

    def db_for_write(self, model: type[Model], **hints: object) -> str:
        """Return the primary. What is read after a write is read there, too."""
        if reading := _reading.get():
            reading.has_written = True
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Model, other: Model, **hints: object) -> bool:
        """Return True: rows of both are rows of one database."""
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: object) -> bool | None:
        """Return False for the replica: it gets the schema from the primary."""
        return False if db == REPLICA else None


def has_replica() -> bool:
    return REPLICA in settings.DATABASES


def read_alias() -> str:
    """Return which database answers a query that only reads, here and now."""
    reading = _reading.get()
    if reading is None or reading.has_written or connection.in_atomic_block:
        return DEFAULT_DB_ALIAS
    return REPLICA


def read_cursor() -> CursorWrapper:
    """Return a cursor for statements that only read, on the database that answers them."""
    return connections[read_alias()].cursor()


def answer_read(user_id: UUID, read: Callable[[], Reply]) -> Reply:
    """Return what `read` returns: answered by the replica where it may, else by the primary.

    When the replica fails, `read` is called again and the primary answers, so it must be safe to call twice.
    """
    if not has_replica() or _reading.get() or not _may_answer(user_id):
        return read()
    reading = _Reading()
    token = _reading.set(reading)
    try:
        reply = read()
    except (DatabaseError, InterfaceError) as error:
        if not note_failure(error):
            raise
    finally:
        _reading.reset(token)
    # Also where nothing was raised: `RefusalMiddleware` answers the error of a page, and that answer is dropped here.
    if reading.has_failed:
        connections[REPLICA].close()
        return read()
    if reading.has_written:
        note_write(user_id)
    return reply


def note_failure(error: BaseException) -> bool:
    """Return whether an error comes from the replica, so that the read is repeated on the primary.

    A statement that took too long would take as long there.
    """
    reading = _reading.get()
    if reading is None:
        return False
    if isinstance(error, OperationalError | InterfaceError) and not isinstance(error.__cause__, QueryCanceled):
        _leave_alone(error)
        reading.has_failed = True
    return reading.has_failed or is_refused_write(error)


def note_write(user_id: UUID) -> None:
    """Record how far a user has written, once it is committed: their reads wait until the replica has it."""
    if has_replica():
        transaction.on_commit(partial(_keep_place, _name(user_id)))


def note_write_for_all() -> None:
    """Record a write for the reads of everybody: what is erased, or no longer shared, must be in no answer."""
    if has_replica():
        transaction.on_commit(partial(_keep_place, _BY_ANYBODY))


def _keep_place(name: str) -> None:
    try:
        place = _ask(DEFAULT_DB_ALIAS, WRITTEN)
    except (DatabaseError, InterfaceError):  # The write is stored: failing to record it must not fail it.
        _process.has_lost = True
        return
    if not cache.add(name, place, KEPT_SECONDS):
        # Only ever raised: the earlier of two concurrent writes may arrive here last. Too far does no harm.
        if (missing := place - cache.get(name, 0)) > 0:
            with suppress(ValueError):
                cache.incr(name, missing)
        cache.touch(name, KEPT_SECONDS)
    # While the cache is away, `add` says that it kept the place, and `get` finds none.
    _process.has_lost = _process.has_lost or cache.get(name, 0) < place


def _may_answer(user_id: UUID) -> bool:
    """Whether the replica has all that this person has written, and is not far behind the primary."""
    if connection.in_atomic_block or monotonic() < _process.left_alone_until:
        return False
    kept = cache.get_many([_KNOWN_SINCE, _BY_ANYBODY, _name(user_id)])
    since = kept.get(_KNOWN_SINCE)
    if since is None or _process.has_lost:
        cache.set(_KNOWN_SINCE, int(time()), None)
        # A cache that keeps this is back.
        _process.has_lost = _process.has_lost and cache.get(_KNOWN_SINCE) is None
        return False
    # What was written before the cache was emptied may be missing both there and on the replica.
    if time() - since <= KEPT_SECONDS:
        return False
    written = max(kept.get(_BY_ANYBODY, 0), kept.get(_name(user_id), 0))
    return _has_come_to(max(_place_some_seconds_ago(), written))


def _place_some_seconds_ago() -> int:
    """Return the position of the primary at most `BEHIND_SECONDS` ago, looked up once a second at most."""
    places, now = _process.places, monotonic()
    # A copy, because other threads append meanwhile.
    recent = [place for place in places.copy() if now - place[0] < BEHIND_SECONDS]
    if not recent or now - recent[-1][0] > LOOK_AGAIN_SECONDS:
        place = (now, _ask(DEFAULT_DB_ALIAS, WRITTEN))
        places.append(place)
        recent.append(place)
    return recent[0][1]


def _has_come_to(place: int) -> bool:
    """Whether the replica has reached a position. It never goes back: one that it reached is not looked up again."""
    replica = connections[REPLICA]
    if _session.connection is not None and _session.connection is replica.connection and _session.position >= place:
        return True
    try:
        position = _ask(REPLICA, REPLAYED)
    except (DatabaseError, InterfaceError) as error:
        _leave_alone(error)
        replica.close()
        return False
    _session.connection, _session.position = replica.connection, position
    return position >= place


def _leave_alone(error: BaseException) -> None:
    _process.left_alone_until = monotonic() + LEAVE_ALONE_SECONDS
    log.warning("The replica does not answer; the primary does for a moment.", outage=REPLICA, error=error)


def _ask(alias: str, statement: str) -> int:
    """Return a place in the journal; 0 from a server that is no replica (any more)."""
    with connections[alias].cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
    return int(row[0]) if row and row[0] is not None else 0


def _name(user_id: UUID) -> str:
    return f"written:{user_id}"

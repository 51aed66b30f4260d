"""Read-only mode: by its setting, or because the database is a replica that refuses writes."""

from django.conf import settings
from django.db import InternalError, connection
from psycopg.errors import ReadOnlySqlTransaction

from bigmind.core.errors import ReadOnly

_REPORTED = ("in_hot_standby", "default_transaction_read_only")


def is_read_only() -> bool:
    """Whether nothing can be stored: this instance is set so, or its database takes no writes, as far as it has said.

    Records of use, such as the usage log, are then left out too, so that nobody is kept from reading by them.
    """
    if settings.READ_ONLY:
        return True
    # What PostgreSQL tells each session when it begins, and with the next answer after it changed. Nothing is asked.
    # A pool such as PgBouncer does not pass it on: then the first write is refused by the database, as before.
    session = connection.connection
    return session is not None and not session.closed and "on" in map(session.info.parameter_status, _REPORTED)


def require_writable() -> None:
    """Refuse a write before any part of it happens.

    Raises:
        ReadOnly: this instance is set to store nothing.
    """
    if is_read_only():
        raise ReadOnly


def is_refused_write(error: BaseException) -> bool:
    """Whether the database refused to write because it is a replica, not because of what was sent."""
    return isinstance(error, InternalError) and isinstance(error.__cause__, ReadOnlySqlTransaction)

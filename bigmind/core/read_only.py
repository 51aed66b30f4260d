"""Read-only mode: by its setting, or because the database is a replica that refuses writes."""

from django.conf import settings
from django.db import InternalError
from psycopg.errors import ReadOnlySqlTransaction

from bigmind.core.errors import ReadOnly


def is_read_only() -> bool:
    """Whether this instance is set to store nothing. Records of use, such as the usage log, are then left out too."""
    return bool(settings.READ_ONLY)


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

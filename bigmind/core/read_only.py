"""When BigMind is only read: by its setting, or because the database is a replica and refuses to write."""

from django.conf import settings
from django.db import InternalError
from psycopg.errors import ReadOnlySqlTransaction

from bigmind.core.errors import ReadOnly


def is_read_only() -> bool:
    """Whether this instance was told to store nothing: then what merely notes something is left out."""
    return bool(settings.READ_ONLY)


def require_writable() -> None:
    """Refuse a write before anything of it is done.

    Raises:
        ReadOnly: this instance was told to store nothing.
    """
    if is_read_only():
        raise ReadOnly


def is_refused_write(error: BaseException) -> bool:
    """Whether the database refused to write, and would refuse whatever was sent."""
    return isinstance(error, InternalError) and isinstance(error.__cause__, ReadOnlySqlTransaction)

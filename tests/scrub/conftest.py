"""A second database to restore into, as the tests of backups have it."""

from tests.backup.conftest import fresh

__all__ = ["fresh"]

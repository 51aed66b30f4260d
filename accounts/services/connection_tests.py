"""Limits on tests of connections: each of them calls others."""

from accounts.actor import Actor
from bigmind.core.errors import TooMany

from .rate_limits import count_one

TESTS_PER_MINUTE = 12


def count_test(actor: Actor) -> None:
    """Count one test of a connection. For admins.

    Raises:
        Forbidden: they are no admin.
        TooMany: they ran 12 in this minute.
    """
    actor.require("admin")
    if seconds := count_one(f"connection-tests:{actor.user.pk}", TESTS_PER_MINUTE):
        raise TooMany(f"More than {TESTS_PER_MINUTE} tests in a minute.", retry_after=seconds)

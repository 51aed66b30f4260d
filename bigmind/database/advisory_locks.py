"""Advisory locks: for transactions of one user that must not run at the same time."""

from django.db import connection


def wait_for_turn(lock: int, who: object) -> None:
    """Wait until no other transaction holds this lock for the same user, then hold it until the transaction ends.

    Args:
        lock: The number of the lock, a different one for each purpose.
        who: Whose transactions wait for each other. Two users whose ids hash alike only wait needlessly.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [lock, str(who)])

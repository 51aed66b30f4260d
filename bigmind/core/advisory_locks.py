"""Taking turns: transactions of one user that must not run side by side."""

from django.db import connection


def wait_for_turn(lock: int, who: object) -> None:
    """Hold back until no other transaction holds this lock for the same person; it ends with the transaction.

    Args:
        lock: The number of what takes turns, its own for each purpose.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [lock, str(who)])

"""The tables that are divided, and how to change them while everybody works."""

from collections.abc import Callable
from time import monotonic, sleep

from django.db import OperationalError, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.errors import DeadlockDetected, LockNotAvailable

from bigmind.core.errors import Conflict
from bigmind.core.roles import owner, owner_alias

PASSAGES = "knowledge_passage"
VECTORS = "knowledge_passagevector"
TABLES = (PASSAGES, VECTORS)
# Several locks are taken one after the other: together less than the second after which PostgreSQL looks for deadlocks,
# so that it never ends the transaction of someone who waits for us.
LOCK_TIMEOUT = "200ms"
PATIENCE_SECONDS = 3600.0
"""A backup that reads the tables holds them until it is done; what was copied by then should not be in vain."""
PAUSE_SECONDS = 1.0
LONGEST_PAUSE = 10.0
_PARTITIONS = "SELECT relid::regclass::text FROM pg_partition_tree(to_regclass(%s)) WHERE isleaf ORDER BY 1"


def count_partitions() -> int:
    """Return how many partitions there are for owners; 0: the tables are plain."""
    return max(0, len(partitions_of(PASSAGES)) - 1)


def leaves_of(table: str) -> list[str]:
    """Return the partitions that hold the rows of a table; for a plain table itself."""
    return partitions_of(table) or [table]


def partitions_of(table: str) -> list[str]:
    """Return the partitions that hold the rows of a table; nothing where it is plain, or not there."""
    with owner().cursor() as cursor:
        cursor.execute(_PARTITIONS, [table])
        return [name for (name,) in cursor.fetchall()]


def set_autovacuum(table: str, how: str) -> None:
    """Let PostgreSQL vacuum a table by itself, or not: who does holds a lock that ours would wait for.

    One that has begun gives way. Neither readers nor writers wait for this.
    """
    with owner().cursor() as cursor:
        for leaf in leaves_of(table):
            cursor.execute(f"ALTER TABLE {leaf} {how}")


def try_patiently(step: str | Callable[[CursorWrapper], None], patience: float | None = None) -> None:
    """Do something in a transaction that gives up soon where it has to wait for a lock, and try again.

    Anyone who comes after a statement that waits for a lock waits as well.
    """
    give_up, pause = monotonic() + (PATIENCE_SECONDS if patience is None else patience), PAUSE_SECONDS
    while True:
        try:
            with transaction.atomic(using=owner_alias()), owner().cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout TO '{LOCK_TIMEOUT}'")
                if isinstance(step, str):
                    cursor.execute(step)
                else:
                    step(cursor)
                return
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                raise
            if monotonic() > give_up:
                raise Conflict("The tables stayed in use.", hint="Nothing is lost: run the command again.") from error
        sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)

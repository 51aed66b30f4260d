"""Advisory locks: for work that must not run twice at the same time. Every number of one stands here."""

from enum import Enum, IntEnum, unique

from django.db import connection


@unique
class AdvisoryLock(IntEnum):
    """What transactions of one user, or of everyone, wait for each other for."""

    APP_MAPS = 6000
    FIRST_RUN = 7700
    REST_ETAGS = 7701
    MEMORY_IMPORTS = 7702
    FEEDBACK = 7703
    GAPS = 7704
    DECISIONS = 7706
    PROPOSALS = 7707
    INSTANCES = 7708
    UPSTREAM_COPIES = 7709
    FACTS = 7710
    TIDYING = 7711
    SIGN_IN_ATTEMPTS = 7714
    CLIENT_REGISTRATION = 7715
    NEAR_DUPLICATES = 7718
    AUDIT_LOG = 7731


@unique
class SessionLock(Enum):
    """What one process at a time does, in as many transactions as it takes: the key of the lock."""

    MIGRATION = (7700, 1)
    BACKUP = (7700, 2)
    INDEXES = (0x6E656172,)


def wait_for_turn(lock: AdvisoryLock, who: object) -> None:
    """Wait until no other transaction holds this lock for the same user, then hold it until the transaction ends.

    Args:
        who: Whose transactions wait for each other. Two users whose ids hash alike only wait needlessly.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [lock.value, str(who)])

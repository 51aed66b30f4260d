"""Deadlocks: PostgreSQL breaks a transaction off where two wait for each other; here it is tried again."""

from collections.abc import Callable
from random import uniform
from time import sleep
from typing import TypeVar

import structlog
from django.db import OperationalError, connection
from psycopg.errors import DeadlockDetected, SerializationFailure

TRIES = 3
PAUSE_SECONDS = 0.1
"""At most, before it is tried again: of two that collided, one should come first."""

Result = TypeVar("Result")

log = structlog.get_logger()


def retry_collisions(work: Callable[[], Result]) -> Result:
    """Do some work and return what it returns; do it again where PostgreSQL broke it off for someone else's sake.

    Nothing of what was broken off is stored. What the work committed before that stays, so it must be able to meet it.
    """
    for _ in range(TRIES - 1):
        try:
            return work()
        except OperationalError as error:
            # Inside a transaction nothing more can be done: its owner has to begin again.
            if connection.in_atomic_block or not isinstance(error.__cause__, DeadlockDetected | SerializationFailure):
                raise
            log.info("Two transactions waited for each other; this one is tried again.", error=str(error.__cause__))
            sleep(uniform(0, PAUSE_SECONDS))  # noqa: S311
    return work()

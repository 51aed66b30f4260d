"""Waits for locks of the database: what two do at once is brought into an order by them."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection, transaction


def meanwhile(first: Callable[[], object], second: Callable[[], Any]) -> Any:
    """Return what `second` returns or raises, begun before the transaction of `first` has ended."""

    def do_second() -> Any:
        try:
            return second()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            first()
            doing = threads.submit(do_second)
            wait_until_someone_waits()
        return doing.result(30)


def at_once(do: Callable[[Any], Any], told: Sequence[Any]) -> list[Any]:
    """Return what each of as many threads as there is to tell returns, which begin at the same moment."""
    begun = Barrier(len(told))

    def do_one(of: Any) -> Any:
        try:
            begun.wait(30)
            return do(of)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(told)) as threads:
        return list(threads.map(do_one, told))


def wait_until_someone_waits() -> None:
    """Return once a session of this database waits for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    until = time.monotonic() + 30
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
            time.sleep(0.02)
    raise AssertionError("nobody waited")

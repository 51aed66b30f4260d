"""Making the database ready: one process at a time, and whoever waits is in nobody's way."""

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection

from bigmind.embedded import database
from bigmind.embedded.database import MIGRATION_LOCK, hang_up, prepare_database

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def holder() -> Iterator[psycopg.Connection]:
    """Yield the connection of a process that migrates, with a limit instead of a deadlock."""
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as held:
        held.execute("SET statement_timeout = '20s'")
        held.execute("SELECT pg_advisory_lock(%s, %s)", MIGRATION_LOCK)
        yield held


def test_who_waits_to_migrate_does_not_keep_an_index_from_being_made(
    holder: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = threading.Event()
    sleep = time.sleep
    monkeypatch.setattr(database.time, "sleep", lambda seconds: (tried.set(), sleep(seconds)))
    waiting = threading.Thread(target=_prepare, daemon=True)
    waiting.start()
    assert tried.wait(20)

    holder.execute("CREATE INDEX CONCURRENTLY trial ON knowledge_entry (confidence)")
    holder.execute("DROP INDEX CONCURRENTLY trial")
    still_waits = waiting.is_alive()
    holder.execute("SELECT pg_advisory_unlock(%s, %s)", MIGRATION_LOCK)
    waiting.join(20)

    assert still_waits
    assert not waiting.is_alive()
    holder.execute("SELECT pg_advisory_lock(%s, %s)", MIGRATION_LOCK)  # It was released: else this runs out of time.


def _prepare() -> None:
    try:
        prepare_database()
    finally:
        hang_up()

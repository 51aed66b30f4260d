"""Making the database ready: one process at a time, and whoever waits is in nobody's way."""

import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from bigmind.database.advisory_locks import SessionLock
from bigmind.embedded import database, waiting
from bigmind.embedded.database import hang_up, prepare_database
from bigmind.embedded.programs import server_account
from tests.embedded.console import Console
from tests.embedded.instance import eventually, free_port

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def holder() -> Iterator[psycopg.Connection]:
    """Yield the connection of a process that migrates, with a limit instead of a deadlock."""
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as held:
        held.execute("SET statement_timeout = '20s'")
        held.execute("SELECT pg_advisory_lock(%s, %s)", SessionLock.MIGRATION.value)
        yield held


def test_who_waits_to_migrate_does_not_keep_an_index_from_being_made(holder, monkeypatch):
    tried = threading.Event()
    sleep = time.sleep
    monkeypatch.setattr(database.time, "sleep", lambda seconds: (tried.set(), sleep(seconds)))
    other = threading.Thread(target=_prepare, args=[[]], daemon=True)
    other.start()
    assert tried.wait(20)

    holder.execute("CREATE INDEX CONCURRENTLY trial ON knowledge_entry (confidence)")
    holder.execute("DROP INDEX CONCURRENTLY trial")
    still_waits = other.is_alive()
    holder.execute("SELECT pg_advisory_unlock(%s, %s)", SessionLock.MIGRATION.value)
    other.join(20)

    assert still_waits
    assert not other.is_alive()
    # It was released: otherwise this runs out of time.
    holder.execute("SELECT pg_advisory_lock(%s, %s)", SessionLock.MIGRATION.value)


def test_who_waits_to_migrate_says_so_at_once_and_again(holder, monkeypatch):
    monkeypatch.setattr(waiting, "REMIND_EVERY", 1.0)
    sentences: list[str] = []
    other = threading.Thread(target=_prepare, args=[sentences], daemon=True)
    other.start()

    eventually(lambda: len(sentences) == 1, within=2)
    eventually(lambda: len(sentences) == 2, within=5)
    holder.execute("SELECT pg_advisory_unlock(%s, %s)", SessionLock.MIGRATION.value)
    other.join(20)

    assert sentences[0] == "Another process migrates the database; waiting for it."
    assert sentences[1] == f"{sentences[0]} Waiting for 1 s so far."


def test_a_database_that_does_not_store_utf8_is_refused_in_one_sentence(home: Path) -> None:
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as server:
        server.execute("DROP DATABASE IF EXISTS latin")
        server.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0")
        parameters = server.info.get_parameters()
    url = f"postgres:///latin?{'&'.join(f'{name}={parameters[name]}' for name in ('host', 'user', 'passfile'))}"

    printed = _refused_everywhere(Console(home, BIGMIND_DATABASE_URL=url))

    assert all("stores text as LATIN1, and BigMind needs UTF8" in sentence for sentence in printed)


def test_a_server_that_is_too_old_is_refused_by_its_version_before_anything_else(home: Path, old_server: str) -> None:
    """Debian's has no pgvector, either: that would be of no use to it."""
    printed = _refused_everywhere(Console(home, BIGMIND_DATABASE_URL=old_server))

    assert all("PostgreSQL 1" in sentence and "BigMind needs 16 or later" in sentence for sentence in printed)
    assert "pgvector" not in "".join(printed)


@pytest.fixture
def old_server() -> Iterator[str]:
    """Yield the address of a database on a server of this machine that is older than we need."""
    folders = sorted(Path("/usr/lib/postgresql").glob("1[0-5]/bin"))
    if not folders:
        pytest.skip("No PostgreSQL 15 or older is installed.")
    port, account, data = free_port(), server_account(), Path(tempfile.mkdtemp(prefix="bm-", dir="/tmp"))
    account.own(data)
    folder, options = folders[-1], account.launch_options
    initdb = [folder / "initdb", "--pgdata", data, "--auth=trust", "--username=bigmind", "--no-sync"]
    subprocess.run([*initdb, "--encoding=UTF8", "--locale=C"], check=True, capture_output=True, **options)
    process = subprocess.Popen(
        [folder / "postgres", "-D", data, "-p", str(port), "-c", "listen_addresses=127.0.0.1", "-k", ""],
        stderr=subprocess.DEVNULL,
        **options,
    )
    url = f"postgres://bigmind@127.0.0.1:{port}/postgres"
    try:
        eventually(lambda: _answers(url), within=20)
        yield url
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(data)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _refused_everywhere(console: Console) -> list[str]:
    """What a start, a migration and the doctor say; none of them shows a traceback, or calls anything else wrong."""
    start, migration = (console.run(name, BIGMIND_PORT=str(free_port())) for name in ("up", "migrate"))
    found = console.doctor(BIGMIND_PORT=str(free_port()))
    assert (start.returncode, migration.returncode) == (1, 1)
    assert "Traceback" not in start.stderr + migration.stderr
    wrong = {name for name, check in found.items() if check["status"] == "problem"}
    assert wrong - {"web", "worker"} == {"database"}
    return [start.stderr, migration.stderr, found["database"]["advice"]]


def _prepare(sentences: list[str]) -> None:
    try:
        prepare_database(sentences.append)
    finally:
        hang_up()

"""A process keeps its connections: however many calls come, Redis and PostgreSQL see the same few."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest
from redis import Redis

from tests.copies import serving_copy
from tests.factories import make_key
from tests.redis_server import RedisServer
from tests.serving import Served, end_its_database_sessions
from tests.transports.mcp_wire import STATELESS_REVISION, Wire

CALLS = 120
AT_ONCE = 8
OF_A_PROCESS = 30
"""What a web process may hold of Redis: eight for the cache, and those that wake workers."""

pytestmark = [pytest.mark.alone, pytest.mark.django_db(transaction=True)]


def test_many_calls_open_no_connection_more(tmp_path: Path) -> None:
    key = make_key().text
    with RedisServer(tmp_path) as redis:
        variables = {"BIGMIND_REDIS_URL": redis.url, "BIGMIND_RATE_LIMIT": "1000000"}
        with serving_copy(tmp_path / "log.txt", **variables) as (served, _):
            _call_often(served, key, 40)
            warm = _opened(redis), _sessions(served)
            _call_often(served, key, CALLS)
            after = _opened(redis), _sessions(served)
            held = _held(redis)
        end_its_database_sessions()

    assert held <= OF_A_PROCESS
    # Two of Redis are the test's own questions.
    assert after[0] - warm[0] <= 4
    assert after[1] - warm[1] <= 2


def _call_often(served: Served, key: str, calls: int) -> None:
    """Read and write over REST and both kinds of MCP, some at once."""
    old = Wire(served, key, revision="2025-11-25")
    old.initialize()
    new = Wire(served, key, revision=STATELESS_REVISION)
    rest = httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {key}"}, timeout=20)
    doors = (
        lambda number: old.call("memory_store_fact", {"category": "decision", "fact": f"Old door, {number}."}),
        lambda number: new.call("memory_recall", {"query": f"door {number}"}),
        lambda number: rest.get("/api/v1/facts/").raise_for_status(),
        lambda number: new.call("memory_list_facts"),
    )
    with rest, ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(lambda number: doors[number % len(doors)](number), range(calls)))


def _opened(redis: RedisServer) -> int:
    with Redis.from_url(redis.url) as client:
        return int(client.info("stats")["total_connections_received"])


def _held(redis: RedisServer) -> int:
    with Redis.from_url(redis.url) as client:
        return len(client.client_list()) - 1


def _sessions(served: Served) -> int:
    with psycopg.connect(served.environment["BIGMIND_DATABASE_URL"], autocommit=True) as database:
        row = database.execute("SELECT sessions FROM pg_stat_database WHERE datname = current_database()").fetchone()
        return int(row[0]) if row else 0

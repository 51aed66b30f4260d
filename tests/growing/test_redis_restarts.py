"""Redis restarts while a task is in hand: the worker is back at once, and nothing is lost or done twice."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded.instance import CopiedInstance
from tests.growing.work_in_hand import WorkInHand, seconds_until_all_take
from tests.knowledge.embeddings.endpoint import Answer, Endpoint
from tests.redis_server import RedisServer
from tests.torture.vectors import right_vectors, seconds_until_embedded, settings_for
from tests.torture.writes import client_of, query

BACK_WITHIN = 15.0

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as redis:
        yield redis


@pytest.fixture(scope="module")
def work(redis: RedisServer) -> Iterator[WorkInHand]:
    folder = Path(tempfile.mkdtemp(prefix="bm-"))
    with Endpoint(Answer(right_vectors)) as endpoint:
        variables = {"BIGMIND_REDIS_URL": redis.url, "BIGMIND_RATE_LIMIT": "0", **settings_for(endpoint)}
        instance = CopiedInstance.prepare(folder / "home", **variables)
        try:
            yield WorkInHand(instance.start(), endpoint)
        finally:
            instance.hurry()
            shutil.rmtree(folder)


def test_a_worker_is_back_soon_after_redis_and_finishes_what_it_has_in_hand(redis, work):
    seconds_until_all_take(work.instance, within=BACK_WITHIN)
    before = work.instance.processes()["worker"].pid
    work.begin("Redis is killed", lasts=14)
    redis.kill()
    redis.start()
    seconds_until_all_take(work.instance, within=BACK_WITHIN)
    redis.stop()
    redis.start()
    seconds_until_all_take(work.instance, within=BACK_WITHIN)

    work.endpoint.usual = Answer(right_vectors)
    seconds_until_embedded(work.instance, within=60)

    assert work.instance.processes()["worker"].pid == before
    assert Counter(work.sent()) == Counter(work.written)
    assert query(work.instance.home, "SELECT task FROM accounts_tasktally WHERE failures > 0") == []


def test_many_tasks_open_no_connection_to_the_database_more(work: WorkInHand) -> None:
    asked = "SELECT sessions, (SELECT sum(runs) FROM accounts_tasktally) FROM pg_stat_database WHERE datname = %s"
    _write(work, 5)
    ((before, ran),) = query(work.instance.home, asked % "current_database()")

    _write(work, 60)

    ((after, run),) = query(work.instance.home, asked % "current_database()")
    assert run - ran >= 40
    # What asks here is one, and the scheduler's minute may wake a thread more.
    assert after - before <= 20


def _write(work: WorkInHand, count: int) -> None:
    with client_of(work.instance) as client:
        for number in range(count):
            fact = {"fact": f"Fact {number} of {count} that wakes a worker.", "category": "decision"}
            client.post("facts/", json=fact).raise_for_status()
    seconds_until_embedded(work.instance, within=60)

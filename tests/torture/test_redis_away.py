"""T6: Redis is silent, away, back and empty: agents notice nothing, and what waited is soon done."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis

from bigmind.embedded.cluster import Cluster
from tests.embedded.instance import Instance, command, eventually
from tests.growing.compose import Service
from tests.growing.work_in_hand import WorkInHand, part, seconds_until_all_take
from tests.knowledge.embeddings.endpoint import Endpoint
from tests.redis_server import RedisServer
from tests.torture.conftest import Start
from tests.torture.day import Day
from tests.torture.scale import AGENTS, AWAY_SECONDS, DRAINED_WITHIN, READY_WITHIN
from tests.torture.vectors import (
    RIGHT,
    seconds_until_embedded,
    settings_for,
    texts_with_a_wrong_vector,
    vectors_of_each_text,
    waiting,
)
from tests.torture.writes import client_of, findable_texts, query, stored_texts

pytestmark = [pytest.mark.torture, pytest.mark.alone]

# So much of the time it takes what it is sent and answers nothing; for the rest its port is closed.
SILENT_SHARE = 0.3
USUAL_SECONDS = max(5.0, AWAY_SECONDS / 10)
# What a write may take that finds out that Redis is silent: half a second for each of two connections, and the write.
FOUND_OUT_WITHIN = 3.0
# With a task in hand. A batch is leased for 30 s, and an embedder may take 22.
IN_HAND_SECONDS = 18.0
BACK_WITHIN = 15.0
SILENT_SECONDS = 35.0


def test_agents_notice_nothing_while_redis_is_away_and_what_waits_is_done_soon_after(
    running: Start, report: Callable[[str], None], tmp_path: Path
) -> None:
    with RedisServer(tmp_path) as redis, running(**_variables(redis)) as bigmind, client_of(bigmind) as client:
        # Meaning is searched once there is a vector; and the first calls of a process load what the others use.
        days = [Day(client, "Warming up").rounds(10)]
        seconds_until_embedded(bigmind, within=DRAINED_WITHIN)
        parts = _parts(bigmind)
        days.append(Day(client, "Redis as usual").lasting(USUAL_SECONDS, agents=AGENTS))
        redis.fall_silent()
        silent = Day(client, "Redis silent").lasting(AWAY_SECONDS * SILENT_SHARE, agents=AGENTS)
        longest = max(silent.seconds["write"])
        report(f"the longest write while Redis was silent took {longest:.1f} s")
        days.append(silent)
        redis.kill()
        days.append(Day(client, "Redis away").lasting(AWAY_SECONDS * (1 - SILENT_SHARE), agents=AGENTS))
        left = waiting(bigmind)
        redis.start()
        drained = seconds_until_embedded(bigmind, within=DRAINED_WITHIN)
        report(f"{left} passages waited when Redis came back empty, and had their vectors after {drained:.1f} s")
        days.append(Day(client, "Redis back").rounds(10))
        redis.forget_everything()
        days.append(Day(client, "Redis emptied").rounds(10))
        emptied = seconds_until_embedded(bigmind, within=DRAINED_WITHIN)
        report(f"emptied under the hands of all: what was written then had its vectors {emptied:.1f} s later")
        report(f"started anew meanwhile: {_started_anew(parts, _parts(bigmind)) or 'nothing'}")
        for day in days:
            report(day.summary())

        assert [failure for day in days for failure in day.failures] == []
        assert all(set(day.fallbacks) == {False} for day in days[1:])
        assert longest <= FOUND_OUT_WITHIN
        _check_that_all_is_there(bigmind, sum((day.written for day in days), Counter()))


def test_two_workers_are_back_soon_after_redis_and_lose_nothing_of_what_they_have_in_hand(
    running: Start, report: Callable[[str], None], tmp_path: Path
) -> None:
    with (
        RedisServer(tmp_path, keeps=True) as redis,
        Endpoint(RIGHT) as endpoint,
        running(BIGMIND_REDIS_URL=redis.url, **settings_for(endpoint)) as bigmind,
        _second_worker(bigmind, redis, endpoint),
    ):
        work = WorkInHand(bigmind, endpoint)
        eventually(lambda: len(query(bigmind.home, "SELECT name FROM accounts_worker")) == 2)
        before = _parts(bigmind)["worker"]
        for name, disturb in _DISTURBANCES.items():
            work.begin(name, lasts=IN_HAND_SECONDS)
            disturb(redis)
            back = seconds_until_all_take(bigmind, within=BACK_WITHIN)
            endpoint.usual = RIGHT
            drained = seconds_until_embedded(bigmind, within=DRAINED_WITHIN)
            report(f"{name}: both workers took work again after {back:.1f} s, all embedded after {drained:.1f} s")
            assert _parts(bigmind)["worker"] == before, name
            assert Counter(work.sent()) == Counter(work.written), name
        assert query(bigmind.home, "SELECT task FROM accounts_tasktally WHERE failures > 0") == []


def test_a_worker_that_takes_nothing_is_told_within_a_minute_and_replaced(
    running: Start, report: Callable[[str], None], tmp_path: Path
) -> None:
    with RedisServer(tmp_path) as redis, running(**_variables(redis)) as bigmind, Redis.from_url(redis.url) as asked:
        seconds_until_all_take(bigmind, within=READY_WITHIN)
        assert part(bigmind, "worker") == {"ok": True}
        deaf, begun = _parts(bigmind)["worker"], time.monotonic()
        # It may send, and receives nothing.
        asked.execute_command("ACL", "SETUSER", "default", "-brpop")
        eventually(lambda: not part(bigmind, "worker")["ok"])
        report(f"told after {time.monotonic() - begun:.0f} s: {part(bigmind, 'worker')['trouble']}")
        assert "has taken nothing for" in part(bigmind, "worker")["trouble"]
        eventually(lambda: _parts(bigmind).get("worker", deaf) != deaf)
        report(f"replaced after {time.monotonic() - begun:.0f} s")
        assert not (bigmind.home / "run" / "alive").exists()
        checks = {check["name"]: check for check in json.loads(_doctor(bigmind))["checks"]}
        assert checks["worker"]["status"] == "problem"

        asked.execute_command("ACL", "SETUSER", "default", "+brpop")

        eventually(lambda: part(bigmind, "worker") == {"ok": True}, within=30)
        eventually(lambda: (bigmind.home / "run" / "alive").exists(), within=30)


def _doctor(instance: Instance) -> str:
    return command(instance.home, "doctor", "--json", **_ours(instance)).stdout


def _ours(instance: Instance) -> dict[str, str]:
    return {name: value for name, value in instance.environment.items() if name.startswith("BIGMIND_")}


@contextmanager
def _second_worker(first: Instance, redis: RedisServer, endpoint: Endpoint) -> Iterator[None]:
    """Run another worker on the database of the first, as on another machine."""
    database = Cluster(first.home).url
    worker = Service(
        "worker",
        first.home.parent / "second",
        BIGMIND_DATABASE_URL=database,
        BIGMIND_DATABASE_OWNER_URL=database,
        BIGMIND_REDIS_URL=redis.url,
        BIGMIND_SECRET_KEY=(first.home / "secret_key").read_text().strip(),
        **settings_for(endpoint),
    )
    try:
        worker.launch()
        yield
    finally:
        worker.hurry()


def _kill(redis: RedisServer) -> None:
    redis.kill()
    redis.start()


def _restart_empty(redis: RedisServer) -> None:
    with Redis.from_url(redis.url) as client:
        client.flushall()
    redis.stop()
    redis.start()


def _restart_with_its_data(redis: RedisServer) -> None:
    redis.stop()
    redis.start()


def _stay_away(redis: RedisServer) -> None:
    redis.stop()
    time.sleep(SILENT_SECONDS)
    redis.start()


def _be_silent(redis: RedisServer) -> None:
    redis.fall_silent()
    time.sleep(SILENT_SECONDS)
    redis.speak()


_DISTURBANCES = {
    "kill -9": _kill,
    "a restart with its data": _restart_with_its_data,
    "a restart without its data": _restart_empty,
    "silence": _be_silent,
    "absence": _stay_away,
}


def _check_that_all_is_there(instance: Instance, written: Counter[str]) -> None:
    assert stored_texts(instance.home) == written
    assert findable_texts(instance.home) == vectors_of_each_text(instance.home) == written
    assert texts_with_a_wrong_vector(instance.home) == []
    assert {name.partition("-")[0] for name in _parts(instance)} >= {"web", "worker"}


def _variables(redis: RedisServer) -> dict[str, str]:
    # A limit that nobody reaches, so that every call is counted in Redis.
    return {
        "BIGMIND_REDIS_URL": redis.url,
        "BIGMIND_EMBEDDING_PROVIDER": "hashing",
        "BIGMIND_RATE_LIMIT": "1000000",
    }


def _parts(instance: Instance) -> dict[str, int]:
    return {name: process.pid for name, process in instance.processes().items()}


def _started_anew(before: dict[str, int], after: dict[str, int]) -> list[str]:
    return [name for name, pid in after.items() if before.get(name) != pid]

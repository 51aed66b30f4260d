"""T6: Redis is silent, away, back and empty: agents notice nothing, and what waited is soon done."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.embedded.instance import Instance
from tests.redis_server import RedisServer
from tests.torture.conftest import Start
from tests.torture.day import Day
from tests.torture.scale import AGENTS, AWAY_SECONDS, DRAINED_WITHIN
from tests.torture.vectors import (
    seconds_until_embedded,
    texts_with_a_wrong_vector,
    vectors_of_each_text,
    waiting,
)
from tests.torture.writes import client_of, findable_texts, stored_texts

pytestmark = [pytest.mark.torture, pytest.mark.alone]

# So much of the time it takes what it is sent and answers nothing; for the rest its port is closed.
SILENT_SHARE = 0.3
USUAL_SECONDS = max(5.0, AWAY_SECONDS / 10)
# What a write may take that finds out that Redis is silent: half a second for each of two connections, and the write.
FOUND_OUT_WITHIN = 3.0


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

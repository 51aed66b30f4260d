"""T6: a worker that Redis gives nothing is noticed and replaced. The drill takes Redis away."""

import json
import time

import pytest
from redis import Redis

from tests.embedded.instance import Instance, command, eventually
from tests.growing.work_in_hand import part, seconds_until_all_take
from tests.redis_server import RedisServer
from tests.torture.scale import READY_WITHIN

pytestmark = [pytest.mark.torture, pytest.mark.alone]


def test_a_worker_that_takes_nothing_is_told_within_a_minute_and_replaced(running, report, tmp_path):
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


def _variables(redis: RedisServer) -> dict[str, str]:
    # A limit that nobody reaches, so that every call is counted in Redis.
    return {
        "BIGMIND_REDIS_URL": redis.url,
        "BIGMIND_EMBEDDING_PROVIDER": "hashing",
        "BIGMIND_RATE_LIMIT": "1000000",
    }


def _parts(instance: Instance) -> dict[str, int]:
    return {name: process.pid for name, process in instance.processes().items()}

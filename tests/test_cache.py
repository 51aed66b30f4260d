"""The shared cache: counts while Redis is there, and stands in nobody's way while it is not (T6)."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import override_settings

from accounts.services.calls import count_against_limit
from bigmind.core.errors import TooMany
from tests.factories import make_actor


@pytest.fixture
def redis(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A Redis of its own, which the cache uses."""
    program = shutil.which("redis-server")
    if program is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("Redis is missing: install redis-server.")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [program, "--port", str(port), "--save", "", "--dir", str(tmp_path)], stdout=subprocess.DEVNULL
    )
    _wait_for(port)
    backend = {
        "BACKEND": "bigmind.cache.ForgivingRedisCache",
        "LOCATION": f"redis://127.0.0.1:{port}/0",
        "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 0.5},
    }
    with override_settings(CACHES={"default": backend}):
        yield process
    process.kill()
    process.wait()


def _wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("Redis did not start.")


@pytest.mark.django_db
def test_the_limit_is_counted_for_all_processes_in_redis(redis):
    actor = make_actor()
    count_against_limit(actor, per_minute=1)

    with pytest.raises(TooMany):
        count_against_limit(actor, per_minute=1)


@pytest.mark.django_db
def test_without_redis_nobody_is_refused_and_nothing_fails(redis):
    actor = make_actor()
    cache.set("kept", "value")
    redis.kill()
    redis.wait()

    count_against_limit(actor, per_minute=1)
    count_against_limit(actor, per_minute=1)

    assert cache.get("kept", "nothing") == "nothing"
    cache.set("other", 1)
    assert not cache.delete("other")

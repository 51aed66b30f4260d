"""The shared cache: it counts for all processes, in Redis or in a file, and stands in nobody's way while it cannot."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import override_settings
from kombu import Connection
from redis import Redis

from accounts.services.rate_limits import count_against_limit
from bigmind import cache as caches
from bigmind import file_cache
from bigmind.core.errors import TooMany
from bigmind.file_cache import FileCache
from bigmind.observability import health
from knowledge.embeddings.calls import Circuit
from tests.factories import make_actor
from tests.redis_server import RedisServer


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis of its own, which the cache uses."""
    with RedisServer(tmp_path) as server:
        backend = {
            "BACKEND": "bigmind.cache.ForgivingRedisCache",
            "LOCATION": server.url,
            "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 0.5},
        }
        with override_settings(CACHES={"default": backend}):
            yield server


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

    count_against_limit(actor, per_minute=1)
    count_against_limit(actor, per_minute=1)

    assert cache.get("kept", "nothing") == "nothing"
    cache.set("other", 1)
    assert not cache.delete("other")


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda: cache.get("a", "nothing"), "nothing"),
        (lambda: cache.get_many(["a"]), {}),
        (lambda: cache.has_key("a"), False),
        (lambda: "a" in cache, False),
        (lambda: cache.set("a", 1), None),
        (lambda: cache.set_many({"a": 1}), ["a"]),
        (lambda: cache.add("a", 1), True),
        (lambda: cache.incr("a"), 0),
        (lambda: cache.delete("a"), False),
        (lambda: cache.delete_many(["a"]), None),
        (lambda: cache.touch("a"), False),
        (lambda: cache.get_or_set("a", lambda: 7), 7),
    ],
)
def test_each_question_has_an_answer_without_redis(redis, monkeypatch, ask, answer):
    monkeypatch.setattr(caches, "LEAVE_ALONE_SECONDS", 0)
    redis.kill()

    assert ask() == answer


def test_an_embedder_is_asked_although_nobody_can_keep_the_state_of_its_circuit(redis, monkeypatch):
    monkeypatch.setattr(caches, "LEAVE_ALONE_SECONDS", 0)
    circuit = Circuit("three-numbers:3")
    redis.kill()

    circuit.note_failure()
    circuit.note_success()

    assert circuit.admits()


def test_a_redis_that_takes_questions_and_answers_none_costs_its_time_out_once(redis):
    redis.fall_silent()
    begun = time.monotonic()

    for number in range(20):
        cache.get(f"question-{number}")

    assert time.monotonic() - begun < 2


def test_what_is_kept_is_kept_again_soon_after_redis_is_back(redis, monkeypatch):
    monkeypatch.setattr(caches, "LEAVE_ALONE_SECONDS", 0.2)
    redis.kill()
    cache.set("lost", 1)
    redis.start()
    time.sleep(0.25)

    cache.set("kept", 2)

    assert cache.get_many(["lost", "kept"]) == {"kept": 2}


COUNT = """
import sys
from django.conf import settings
settings.configure()
from bigmind.file_cache import FileCache
cache = FileCache(sys.argv[1], {})
for _ in range(500):
    cache.add("counted", 0)
    cache.incr("counted")
"""


@pytest.fixture
def file(tmp_path: Path) -> FileCache:
    """A cache in a file that nobody else has open."""
    return FileCache(str(tmp_path / "run" / "cache"), {"OPTIONS": {"MAX_ENTRIES": 100}})


def test_what_one_process_keeps_in_the_file_the_others_read_and_count(file, tmp_path):
    cache_file = str(tmp_path / "run" / "cache")
    file.set("counted", 1)
    writers = [subprocess.Popen([sys.executable, "-c", COUNT, cache_file]) for _ in range(2)]

    codes = [writer.wait(60) for writer in writers]

    assert codes == [0, 0]
    assert file.get("counted") == 1001


def test_the_file_forgets_what_has_expired(file):
    file.set("short", "value", timeout=0.05)
    file.set("long", "value", timeout=None)
    time.sleep(0.1)

    assert file.get_many(["short", "long"]) == {"long": "value"}
    assert file.add("short", 1)
    assert not file.add("long", 1)
    assert file.delete("long")
    assert not file.delete("long")
    with pytest.raises(ValueError, match="long"):
        file.incr("long")


def test_a_flood_of_keys_pushes_out_what_would_expire_first(file):
    file.set("counter", 7, timeout=1000)

    for number in range(1_000):
        file.set(f"flood-{number}", 1, timeout=100)

    assert file.get("counter") == 7
    assert sum(f"flood-{number}" in file for number in range(1_000)) < 200


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"no database" * 1000), lambda path: path.mkdir()])
def test_a_file_that_cannot_be_used_is_an_empty_cache(file, tmp_path, monkeypatch, damage):
    monkeypatch.setattr(file_cache, "LEAVE_ALONE_SECONDS", 0)
    (tmp_path / "run").mkdir()
    damage(tmp_path / "run" / "cache")

    file.set("a", 1)

    assert (file.get("a", "nothing"), file.add("a", 1), file.incr("a"), file.delete("a")) == ("nothing", True, 0, False)


def test_a_redis_that_takes_no_more_connections_is_told(redis, monkeypatch):
    monkeypatch.setattr(health.celery, "connection_for_write", lambda **_: Connection(redis.url))
    cache.set("kept", 1)
    assert health.broker().ok
    with Redis.from_url(redis.url) as other:
        other.config_set("maxclients", 2)

        refused = health.broker()

    assert refused.error.startswith("takes no more connections")
    assert refused.error.endswith("calls are not counted against their limits")
    assert not refused.stops


def test_the_calls_of_a_process_share_a_few_connections(redis):
    def ask(number: int) -> object:
        return Context().run(cache.get, f"question-{number}")  # Each call has a context, and Django a cache for each.

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(ask, range(500)))

    with Redis.from_url(redis.url) as other:
        assert other.info("stats")["total_connections_received"] <= 16 + 5  # The server was asked whether it is there.


def test_a_copy_of_a_process_makes_connections_of_its_own(redis):
    cache.set("kept", "before the fork")
    answered, answers = os.pipe()
    if not (copy := os.fork()):
        try:
            os.write(answers, str(cache.get("kept")).encode())
        finally:
            os._exit(0)
    os.waitpid(copy, 0)

    assert os.read(answered, 100) == b"before the fork"
    assert cache.get("kept") == "before the fork"

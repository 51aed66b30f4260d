"""The shared cache on Redis, without which BigMind goes on: what it holds are counters and copies, never the truth."""

from collections.abc import Callable, Iterable
from functools import cache
from time import monotonic
from typing import Any, ClassVar, TypeVar

import structlog
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from django.utils.functional import cached_property
from redis import BlockingConnectionPool
from redis.exceptions import RedisError

from bigmind.observability.outages import OUTAGES, REDIS

LEAVE_ALONE_SECONDS = 5.0
"""A Redis that takes packets and answers none costs half a second each time it is asked, and a call asks often."""

MOST_CONNECTIONS = 32
"""Of a process: more than its threads have use for at once, because a thread that finds none goes on without Redis."""

Answer = TypeVar("Answer")

log = structlog.get_logger()


class ForgivingRedisCache(RedisCache):
    """Django's Redis cache, which behaves like an empty one while Redis is away."""

    # Of the process, not of the object, like the connections: Django makes one for each call.
    _away_until: ClassVar[dict[str, float]] = {}

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._server, self._named = server, tuple(params.get("OPTIONS", {}).items())

    @cached_property
    def _cache(self) -> RedisCacheClient:
        """Return what asks Redis: of the process, whose threads share its connections, and a copy makes its own."""
        return _client(self._server, self._named)

    @property
    def is_left_alone(self) -> bool:
        """Whether this process goes on without Redis at the moment: nothing is counted against a limit."""
        return monotonic() < self._away_until.get(self._server, 0.0)

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        return self._or_else(default, lambda: super(ForgivingRedisCache, self).get(key, default, version))

    def get_many(self, keys: Iterable[Any], version: int | None = None) -> dict[Any, Any]:
        """Return what is kept of several."""
        return self._or_else({}, lambda: super(ForgivingRedisCache, self).get_many(keys, version))

    def has_key(self, key: Any, version: int | None = None) -> bool:
        """Say whether something is kept."""
        return self._or_else(False, lambda: super(ForgivingRedisCache, self).has_key(key, version))

    def set(self, key: Any, value: Any, timeout: Any = 300, version: int | None = None) -> None:
        """Keep a value, if that is possible."""
        self._or_else(None, lambda: super(ForgivingRedisCache, self).set(key, value, timeout, version))

    def set_many(self, data: dict[Any, Any], timeout: Any = 300, version: int | None = None) -> list[Any]:
        """Store several values; return the keys that could not be stored."""
        return self._or_else(list(data), lambda: super(ForgivingRedisCache, self).set_many(data, timeout, version))

    def add(self, key: Any, value: Any, timeout: Any = 300, version: int | None = None) -> bool:
        """Keep a value unless there is one; say that it was added when nobody can know."""
        return self._or_else(True, lambda: super(ForgivingRedisCache, self).add(key, value, timeout, version))

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        """Count up; 0 when nobody can count.

        Raises:
            ValueError: nothing is kept under this key.
        """
        return self._or_else(0, lambda: super(ForgivingRedisCache, self).incr(key, delta, version))

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Forget a value; say whether there was one."""
        return self._or_else(False, lambda: super(ForgivingRedisCache, self).delete(key, version))

    def delete_many(self, keys: Iterable[Any], version: int | None = None) -> None:
        """Forget several values."""
        self._or_else(None, lambda: super(ForgivingRedisCache, self).delete_many(keys, version))

    def touch(self, key: Any, timeout: Any = 300, version: int | None = None) -> bool:
        """Keep a value for longer; say whether there was one."""
        return self._or_else(False, lambda: super(ForgivingRedisCache, self).touch(key, timeout, version))

    def _or_else(self, otherwise: Answer, ask: Callable[[], Answer]) -> Answer:
        """Ask Redis; when it does not answer, leave it alone for a while and say `otherwise`.

        After that while one thread asks whether it is back, and the others go on without it.
        """
        until = self._away_until.get(self._server, 0.0)
        if monotonic() < until:
            return otherwise
        if until:
            self._away_until[self._server] = monotonic() + LEAVE_ALONE_SECONDS
        try:
            answer = ask()
        except (RedisError, OSError) as error:
            self._away_until[self._server] = monotonic() + LEAVE_ALONE_SECONDS
            log.warning("The shared cache does not answer; it is left alone for a moment.", error=error)
            return otherwise
        except ValueError:  # What was to be counted is not there: that is an answer.
            self._away_until[self._server] = 0.0
            raise
        if until:
            self._away_until[self._server] = 0.0
            OUTAGES.note_answer(REDIS)
        return answer


@cache
def _client(server: str, options: tuple[tuple[str, Any], ...]) -> RedisCacheClient:
    pool: dict[str, Any] = {"pool_class": BlockingConnectionPool, "max_connections": MOST_CONNECTIONS, "timeout": 0.5}
    return RedisCacheClient([server], **pool, **dict(options))

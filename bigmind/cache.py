"""The shared cache on Redis, without which BigMind goes on: what it holds are counters and copies, never the truth."""

from collections.abc import Callable
from typing import Any, TypeVar

import structlog
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

Answer = TypeVar("Answer")

log = structlog.get_logger()


class ForgivingRedisCache(RedisCache):
    """Django's Redis cache, which behaves like an empty one while Redis is away."""

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """Return what is kept, or the default."""
        return _or_else(lambda: super(ForgivingRedisCache, self).get(key, default, version), default)

    def set(self, key: Any, value: Any, timeout: Any = 300, version: int | None = None) -> None:
        """Keep a value, if that is possible."""
        _or_else(lambda: super(ForgivingRedisCache, self).set(key, value, timeout, version), None)

    def add(self, key: Any, value: Any, timeout: Any = 300, version: int | None = None) -> bool:
        """Keep a value unless there is one; say that it was added when nobody can know."""
        return _or_else(lambda: super(ForgivingRedisCache, self).add(key, value, timeout, version), True)

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        """Count up; 0 when nobody can count.

        Raises:
            ValueError: nothing is kept under this key.
        """
        return _or_else(lambda: super(ForgivingRedisCache, self).incr(key, delta, version), 0)

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Forget a value; say whether there was one."""
        return _or_else(lambda: super(ForgivingRedisCache, self).delete(key, version), False)

    def touch(self, key: Any, timeout: Any = 300, version: int | None = None) -> bool:
        """Keep a value for longer; say whether there was one."""
        return _or_else(lambda: super(ForgivingRedisCache, self).touch(key, timeout, version), False)


def _or_else(ask: Callable[[], Answer], otherwise: Answer) -> Answer:
    try:
        return ask()
    except (RedisError, OSError) as error:
        log.warning("The shared cache does not answer.", error=str(error))
        return otherwise

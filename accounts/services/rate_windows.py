"""Minutes: how often something happened in this one, counted in the cache that all processes share."""

from time import time

from django.core.cache import cache

KEPT_SECONDS = 120


def this_minute(name: str) -> tuple[str, int]:
    """Return where something is counted in this minute, and how many seconds are left of it."""
    minute, second = divmod(int(time()), 60)
    return f"{name}:{minute}", 60 - second


def count_in(place: str) -> int:
    """Count one, and return how many there are; 0 when nobody can count, because the cache is away or made room."""
    cache.add(place, 0, timeout=KEPT_SECONDS)
    try:
        return cache.incr(place)
    except ValueError:
        return 0

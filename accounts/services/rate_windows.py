"""Minutes: how often something happened in this one, counted in the cache that all processes share."""

from time import time

from django.core.cache import cache

KEPT_SECONDS = 120


def this_minute(name: str) -> tuple[str, int]:
    """Return where something is counted in this minute, and how many seconds are left of it."""
    minute, second = divmod(int(time()), 60)
    return f"{name}:{minute}", 60 - second


def count_one(name: str, most: int) -> int:
    """Count one in this minute; return how many seconds are left of it if there are more than `most`, else 0."""
    place, seconds = this_minute(name)
    return seconds if count_in(place) > most else 0


def count_in(place: str) -> int:
    """Count one, and return how many there are; 0 when nobody can count, because the cache is away or made room."""
    for _ in range(2):
        try:
            return cache.incr(place)
        except ValueError:  # The first of its minute: for the others, one question to the cache is enough.
            cache.add(place, 0, timeout=KEPT_SECONDS)
    return 0

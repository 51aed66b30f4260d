"""The rate limits: how often something may happen in a minute, counted in the cache that all processes share."""

from dataclasses import dataclass
from time import time

from django.conf import settings
from django.core.cache import cache

from accounts.actor import Actor
from bigmind.core.errors import TooMany

KEPT_SECONDS = 120


@dataclass(frozen=True)
class Allowance:
    """What a key may still do in this minute: `left` of `limit` operations, and as many again in `seconds`."""

    limit: int
    left: int
    seconds: int


def limit_of(actor: Actor) -> int:
    """Return how many operations a minute has for this actor: the key's own limit, else everyone's. 0 is no limit."""
    own = actor.key.per_minute if actor.key else None
    return settings.RATE_LIMIT_PER_MINUTE if own is None else own


def allowance_of(actor: Actor) -> Allowance | None:
    """Return what this actor may still do in this minute; None without a limit. Asking does not count."""
    limit = limit_of(actor)
    if not limit:
        return None
    name, seconds = this_minute(_name_of(actor))
    return Allowance(limit, max(0, limit - cache.get(name, 0)), seconds)


def count_against_limit(actor: Actor, *, per_minute: int) -> None:
    """Count one operation of this key, or of this person where no key is used.

    Raises:
        TooMany: more than `per_minute` in this minute. 0 switches the limit off.
    """
    if per_minute and (seconds := count_one(_name_of(actor), per_minute)):
        raise TooMany(f"More than {per_minute} operations in a minute.", retry_after=seconds)


def _name_of(actor: Actor) -> str:
    return f"calls:{actor.key.pk if actor.key else actor.user.pk}"


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

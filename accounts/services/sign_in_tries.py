"""Sign-in tries: after ten wrong passwords a name is locked for the address they came from, for a while."""

import hashlib
from datetime import timedelta
from math import ceil
from secrets import token_hex
from time import time

from django.core.cache import cache

from bigmind.core.errors import TooMany

TRIES = 10
WITHIN = timedelta(minutes=15)

_SECONDS = int(WITHIN.total_seconds())


def count_try(name: str, address: str) -> None:
    """Count one try, before its password is looked at: many at once are not more than ten either.

    The address is part of it, so that nobody can lock others out from elsewhere.

    Raises:
        TooMany: there were ten within a quarter of an hour. It says when the next one is welcome.
    """
    window = _window(name, address)
    ends, counter = cache.get_or_set(window, _begin, timeout=_SECONDS) or _begin()
    # The counter outlives its window, so that it cannot expire between these two lines.
    cache.add(counter, 0, timeout=2 * _SECONDS)
    if cache.incr(counter) > TRIES:
        raise _locked(max(1, ends - int(time())))


def forget_tries(name: str, address: str) -> None:
    """Begin to count anew: the right password was given."""
    cache.delete(_window(name, address))


def _begin() -> tuple[int, str]:
    """Return when a window that begins now ends, and the name of its counter, which no other window has."""
    return int(time()) + _SECONDS, f"sign-in-tries:{token_hex(16)}"


def _locked(seconds: int) -> TooMany:
    minutes = ceil(seconds / 60)
    wait = f"{minutes} minutes" if minutes > 1 else "a minute"
    return TooMany("Too many wrong tries.", retry_after=seconds, hint=f"Try again in {wait}.")


def _window(name: str, address: str) -> str:
    # Upper case, as the database compares user names: another spelling of the same name is not another name.
    said = f"{name.strip().upper()}\n{address}"
    return f"sign-in-tries:{hashlib.sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()}"

"""Guesses: wrong keys, tokens and links. They are too long to be guessed, so what is right always goes in.

A flood of wrong ones has to wait, and costs no entry of the cache for each. What was good once is no guess: agents
that come with an expired token must go on hearing 401, or they would not refresh it.
"""

from django.core.cache import cache

from accounts.keys.text import digest_of
from accounts.models import ApiKey, AppToken, Invitation, SignInLink
from accounts.services.client_addresses import place_of
from accounts.services.rate_windows import KEPT_SECONDS, count_in, this_minute
from bigmind.core.errors import TooMany

GUESSES_PER_MINUTE = 10
EXCHANGES_PER_MINUTE = 300


def count_guess(text: str, address: str) -> None:
    """Count a key, a token or a link that is wrong, unless it was good once.

    Raises:
        TooMany: there were ten different ones from this address in this minute, or ten times this one.
    """
    if not _was_good_once(digest_of(text)):
        count_wrong(text, address)


def count_wrong(text: str, address: str) -> None:
    """Count something wrong that was shown; the database is not asked.

    Raises:
        TooMany: there were ten different ones from this address in this minute, or ten times this one.
    """
    minute, seconds = this_minute(f"guesses:{place_of(address)}")
    if _is_one_too_many(minute, f"{minute}:{digest_of(text)}"):
        raise TooMany("Too many wrong keys, tokens or links came from your address.", retry_after=seconds)


def count_exchange(address: str) -> None:
    """Count one request to exchange or give back a token, good or not.

    Raises:
        TooMany: 300 came from this address within the minute.
    """
    minute, seconds = this_minute(f"exchanges:{place_of(address)}")
    if count_in(minute) > EXCHANGES_PER_MINUTE:
        raise TooMany("Too many tokens were exchanged or given back from your address.", retry_after=seconds)


def _is_one_too_many(minute: str, guess: str) -> bool:
    """Only the first ten that differ get a place of their own, so that no flood pushes other counters out."""
    if cache.get(minute, 0) >= GUESSES_PER_MINUTE and cache.get(guess) is None:
        return True
    if cache.add(guess, 0, timeout=KEPT_SECONDS) and count_in(minute) > GUESSES_PER_MINUTE:
        cache.delete(guess)
        return True
    return count_in(guess) > GUESSES_PER_MINUTE


def _was_good_once(digest: str) -> bool:
    first, *others = (
        model.objects.filter(digest=digest).values_list("digest")
        for model in (ApiKey, AppToken, SignInLink, Invitation)
    )
    return first.union(*others).exists()

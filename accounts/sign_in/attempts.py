"""Attempts: wrong passwords lock a name for the address they came from; wrong keys and links slow an address down."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.core.cache import cache
from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from accounts.keys import digest_of
from accounts.models import ApiKey, AppToken, Invitation, SignInLink, SignInTry, User
from accounts.services.rate_limits import KEPT_SECONDS, count_in, count_one, this_minute
from bigmind.core.errors import Invalid, TooMany
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.network.addresses import network_of

TRIES = 10
TRIES_OF_AN_ADDRESS = 50
WITHIN = timedelta(minutes=15)
CLOCKS_DIFFER = timedelta(minutes=1)
"""By which the clocks of machines that share a database may differ."""

MOST_SHOWN = 100

GUESSES_PER_MINUTE = 10
EXCHANGES_PER_MINUTE = 300


@transaction.atomic
def count_try(name: str, address: str) -> None:
    """Count one try, before its password is looked at: many at once are not more than ten either.

    The address is part of it, so that nobody can lock others out from elsewhere. All names together may be tried 50
    times from one address, so that nobody tries one password on everyone; without an address only the name counts.

    Raises:
        TooMany: there were as many within a quarter of an hour. It says when the next one is welcome.
    """
    name_digest, place = digest_of_name(name), network_of(address)
    # By the place, because all names that are tried from there are counted together: none slips through between two.
    wait_for_turn(AdvisoryLock.SIGN_IN_ATTEMPTS, place or name_digest)
    from_there = _counting().filter(address=place).order_by("-at").values_list("name_digest", "at")
    tries = list((from_there if place else from_there.filter(name_digest=name_digest))[:TRIES_OF_AN_ADDRESS])
    _require_fewer([at for digest, at in tries if digest == name_digest], TRIES)
    if place:
        _require_fewer([at for _, at in tries], TRIES_OF_AN_ADDRESS)
    SignInTry.objects.create(name_digest=name_digest, address=place, at=timezone.now())


def forget_tries(name: str, address: str) -> None:
    """Reset the count, after the right password."""
    SignInTry.objects.filter(name_digest=digest_of_name(name), address=network_of(address)).delete()


def _require_fewer(tries: Sequence[datetime], most: int) -> None:
    """Refuse when there are `most`, the newest first: one is welcome again when the last of these counts no more."""
    if len(tries) >= most:
        raise _lockout_error(max(1, ceil((tries[most - 1] + WITHIN - timezone.now()).total_seconds())))


def _lockout_error(seconds: int) -> TooMany:
    minutes = ceil(seconds / 60)
    wait = f"{minutes} minutes" if minutes > 1 else "a minute"
    return TooMany("Too many wrong tries.", retry_after=seconds, hint=f"Try again in {wait}.")


def digest_of_name(name: str) -> str:
    """Return what is kept of a name, the same for every spelling of it: upper case, as the database compares them."""
    return hashlib.sha256(name.strip().upper().encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Lockout:
    """From where nobody may try a name, or any name, and until when. Without an address: at a password or code."""

    address: str
    until: datetime


def guesser(user: User) -> str:
    """Return the name under which guesses at the current password of a signed-in user are counted."""
    return f"password of {user.pk}"


def guesser_of_code(user: User) -> str:
    """Return the name under which guesses at the codes of a user's second factor are counted."""
    return f"code of {user.pk}"


def lockouts_of(users: Collection[User]) -> dict[User, list[Lockout]]:
    """Return who of these is locked out, and where."""
    names = {digest_of_name(name): user for user in users for name in _names_of(user)}
    counting = _counting().filter(name_digest__in=names)
    groups = counting.values_list("name_digest", "address").annotate(tries=Count("pk")).filter(tries__gte=TRIES)
    found: dict[User, list[Lockout]] = {}
    for digest, address, _ in groups.order_by("address")[:MOST_SHOWN]:
        until = _until(counting.filter(name_digest=digest, address=address), TRIES)
        found.setdefault(names[digest], []).append(Lockout(address, until))
    return found


def list_locked_addresses(actor: Actor) -> list[Lockout]:
    """Return the addresses from which too many names were tried: nobody can sign in from there."""
    actor.require("admin")
    counting = _counting().exclude(address="")
    groups = counting.values_list("address").annotate(tries=Count("pk")).filter(tries__gte=TRIES_OF_AN_ADDRESS)
    return [
        Lockout(address, _until(counting.filter(address=address), TRIES_OF_AN_ADDRESS))
        for address, _ in groups.order_by("address")[:MOST_SHOWN]
    ]


def let_try_again(actor: Actor, user: User) -> None:
    """Reset the failed attempts at a user's password: they may try again at once, from any address."""
    actor.require("admin")
    SignInTry.objects.filter(name_digest__in=[digest_of_name(name) for name in _names_of(user)]).delete()


def let_address_try_again(actor: Actor, address: str) -> None:
    """Delete the attempts from an address.

    Raises:
        Invalid: it cannot be an address.
    """
    actor.require("admin")
    if not address.isprintable():
        raise Invalid.of("address", "is not an address", hint="Press the button beside one of those that are listed.")
    # Those without an address are guesses at passwords and codes of signed-in users, and of no one place.
    SignInTry.objects.filter(address=address).exclude(address="").delete()


def _names_of(user: User) -> tuple[str, ...]:
    """Return the names under which failed attempts to sign in as a user are counted."""
    return user.username, guesser(user), guesser_of_code(user)


def _counting() -> QuerySet[SignInTry]:
    # Tries of the future are of a clock that was set back since: they would lock people out until it gets there again.
    now = timezone.now()
    return SignInTry.objects.filter(at__gt=now - WITHIN, at__lte=now + CLOCKS_DIFFER)


def _until(tries: QuerySet[SignInTry], most: int) -> datetime:
    """Return when one is welcome again: when the oldest of the newest `most` counts no more."""
    return tries.order_by("-at").values_list("at", flat=True)[most - 1] + WITHIN


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
    minute, seconds = this_minute(f"guesses:{network_of(address)}")
    if _is_one_too_many(minute, f"{minute}:{digest_of(text)}"):
        raise TooMany("Too many wrong keys, tokens or links came from your address.", retry_after=seconds)


def count_exchange(address: str) -> None:
    """Count one request to exchange or give back a token, good or not.

    Raises:
        TooMany: 300 came from this address within the minute.
    """
    if seconds := count_one(f"exchanges:{network_of(address)}", EXCHANGES_PER_MINUTE):
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

"""Sign-in tries: after ten wrong passwords a name is locked for the address they came from, for a while.

They are kept in the database: every process counts the same ones, and no flood of other names pushes them out.
"""

import hashlib
from datetime import timedelta
from math import ceil

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import SignInTry
from accounts.services.client_addresses import place_of
from bigmind.core.errors import TooMany

TRIES = 10
TRIES_OF_AN_ADDRESS = 50
WITHIN = timedelta(minutes=15)


@transaction.atomic
def count_try(name: str, address: str) -> None:
    """Count one try, before its password is looked at: many at once are not more than ten either.

    The address is part of it, so that nobody can lock others out from elsewhere. All names together may be tried 50
    times from one address, so that nobody tries one password on everyone; without an address only the name counts.

    Raises:
        TooMany: there were as many within a quarter of an hour. It says when the next one is welcome.
    """
    name_digest, place = digest_of_name(name), place_of(address)
    _one_at_a_time(place or name_digest)
    from_there = SignInTry.objects.filter(address=place, at__gt=timezone.now() - WITHIN)
    _require_fewer(from_there.filter(name_digest=name_digest), TRIES)
    if place:
        _require_fewer(from_there, TRIES_OF_AN_ADDRESS)
    SignInTry.objects.create(name_digest=name_digest, address=place, at=timezone.now())


def forget_tries(name: str, address: str) -> None:
    """Reset the count, after the right password."""
    SignInTry.objects.filter(name_digest=digest_of_name(name), address=place_of(address)).delete()


def forget_old_tries() -> int:
    """Delete the tries that count no more; return how many went."""
    gone, _ = SignInTry.objects.filter(at__lte=timezone.now() - WITHIN).delete()
    return gone


def _require_fewer(tries: QuerySet[SignInTry], most: int) -> None:
    """Refuse when there are `most`: one is welcome again when the oldest of the newest `most` counts no more."""
    moments = tries.order_by("-at").values_list("at", flat=True)[most - 1 : most]
    for moment in moments:
        raise _lockout_error(max(1, ceil((moment + WITHIN - timezone.now()).total_seconds())))


def _one_at_a_time(place: str) -> None:
    """Let tries from one place wait for each other until each is counted, so that none slips through between two."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"sign-in-tries:{place}"])


def _lockout_error(seconds: int) -> TooMany:
    minutes = ceil(seconds / 60)
    wait = f"{minutes} minutes" if minutes > 1 else "a minute"
    return TooMany("Too many wrong tries.", retry_after=seconds, hint=f"Try again in {wait}.")


def digest_of_name(name: str) -> str:
    """Return what is kept of a name, the same for every spelling of it: upper case, as the database compares them."""
    return hashlib.sha256(name.strip().upper().encode("utf-8", "surrogatepass")).hexdigest()

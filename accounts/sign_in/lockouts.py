"""Lock-outs: who may not try to sign in for a while, and from where; admins see it, and can let them try again."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import SignInTry, User

from .tries import TRIES, TRIES_OF_AN_ADDRESS, WITHIN, digest_of_name

MOST_SHOWN = 100


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
    """Forget the tries from an address."""
    actor.require("admin")
    SignInTry.objects.filter(address=address).exclude(address="").delete()


def _names_of(user: User) -> tuple[str, ...]:
    """Return the names under which failed attempts to sign in as a user are counted."""
    return user.username, guesser(user), guesser_of_code(user)


def _counting() -> QuerySet[SignInTry]:
    return SignInTry.objects.filter(at__gt=timezone.now() - WITHIN)


def _until(tries: QuerySet[SignInTry], most: int) -> datetime:
    """Return when one is welcome again: when the oldest of the newest `most` counts no more."""
    return tries.order_by("-at").values_list("at", flat=True)[most - 1] + WITHIN

"""Arrivals: whether an agent has come in with a key, which client it is, and what it was shown and did first."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.core.cache import cache

from accounts.models import ApiKey, Call

REMEMBERED_FOR = timedelta(days=1)
CALLS_SHOWN = 5

State = Literal["waiting", "connected", "revoked", "expired"]


@dataclass(frozen=True)
class OnboardingState:
    """What has happened with a key so far.

    Attributes:
        client: The name that the client gives itself; empty when it gave none.
        at: When the key was used last.
        tools: How many tools it was shown; None when it has not asked, or that is no longer known.
        called: The operations it called first.
    """

    state: State
    client: str = ""
    at: datetime | None = None
    tools: int | None = None
    called: tuple[str, ...] = ()


def note_listing(key: ApiKey, tools: int) -> None:
    """Remember for a day how many tools were listed to the client with this key."""
    cache.set(_listing_of(key), tools, REMEMBERED_FOR.total_seconds())


def arrival_of(key: ApiKey) -> OnboardingState:
    """Return what has happened with a key so far."""
    if key.last_used_at is None:
        return OnboardingState(
            "revoked" if key.state == "revoked" else "expired" if key.state == "expired" else "waiting"
        )
    calls = Call.objects.filter(key=key).order_by("at", "pk").values_list("operation", flat=True)
    called = tuple(dict.fromkeys(calls[: 4 * CALLS_SHOWN]))[:CALLS_SHOWN]
    return OnboardingState("connected", key.last_used_by, key.last_used_at, cache.get(_listing_of(key)), called)


def _listing_of(key: ApiKey) -> str:
    return f"tools-listed:{key.pk}"

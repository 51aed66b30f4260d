"""Agents: which client acts for a user, when it was last seen, and how far it has come with a new key."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.core.cache import cache
from django.db.models import F
from django.utils import timezone

from accounts.keys import digest_of
from accounts.models import Agent, ApiKey, Call, User
from bigmind.database.read_only import is_read_only

SEEN_EVERY = timedelta(minutes=1)

REMEMBERED_FOR = timedelta(days=1)
CALLS_SHOWN = 5

State = Literal["waiting", "connected", "revoked", "expired"]


def note_agent(user: User, *, client_name: str, client_version: str = "", host: str = "") -> Agent | None:
    """Return the agent of this client on this host, made on its first call, and note that it was seen.

    None for one that nobody knows yet, while nothing can be stored.

    `last_seen` moves once a minute: within it the agent is answered from memory, so that a busy agent neither reads
    nor writes a row with each call.
    """
    name, version = _short(client_name, 200) or "unknown client", _short(client_version, 100)
    where = _short(host, 200)
    remembered = f"agent:{user.pk}:{digest_of(repr((name, version, where)))}"
    agent: Agent | None = cache.get(remembered)
    if agent is None:
        if is_read_only():
            return Agent.objects.filter(user=user, client_name=name, host=where).first()
        agent = _touch_agent(user, name, version, where)
        cache.set(remembered, agent, SEEN_EVERY.total_seconds())
    return agent


def _touch_agent(user: User, name: str, version: str, host: str) -> Agent:
    now = timezone.now()
    agent, is_new = Agent.objects.get_or_create(
        user=user, client_name=name, host=host, defaults={"client_version": version, "last_seen": now}
    )
    if not is_new:
        Agent.objects.filter(pk=agent.pk).update(last_seen=now, client_version=version or F("client_version"))
        agent.last_seen, agent.client_version = now, version or agent.client_version
    return agent


def _short(text: str, limit: int) -> str:
    """A client chooses its own name: keep the printable part, up to the limit."""
    return "".join(char for char in text if char.isprintable())[:limit].strip()


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

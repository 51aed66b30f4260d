"""Agents: which client acts for a user, and when it was last seen."""

from datetime import timedelta

from django.db.models import F, Q
from django.utils import timezone

from accounts.models import Agent, User

SEEN_EVERY = timedelta(minutes=1)


def note_agent(user: User, *, client_name: str, client_version: str = "", host: str = "") -> Agent:
    """Return the agent of this client on this host, made on its first call, and note that it was seen.

    `last_seen` moves at most once a minute, so that a busy agent does not write a row with each call.
    """
    now = timezone.now()
    version = _short(client_version, 100)
    agent, _ = Agent.objects.get_or_create(
        user=user,
        client_name=_short(client_name, 200) or "unknown client",
        host=_short(host, 200),
        defaults={"client_version": version, "last_seen": now},
    )
    stale = Q(last_seen__lt=now - SEEN_EVERY) | (~Q(client_version=version) if version else Q(pk__in=[]))
    if agent.last_seen < now - SEEN_EVERY or (version and agent.client_version != version):
        Agent.objects.filter(stale, pk=agent.pk).update(last_seen=now, client_version=version or F("client_version"))
        agent.last_seen, agent.client_version = now, version or agent.client_version
    return agent


def _short(text: str, limit: int) -> str:
    """A client names itself as it likes: keep the printable part of it, up to the limit."""
    return "".join(char for char in text if char.isprintable())[:limit].strip()

"""The company server, asked by the scheduler: report, send proposals, hear decisions, read what the company knows."""

import socket
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Agent
from bigmind import __version__
from bigmind.core.background import after_commit
from bigmind.core.errors import Conflict
from knowledge.models import CompanyEntry, CompanyServer, Dispatch, Entry, Fact, Note, Session

from .copies import Kept, forget_other_servers, keep_copies, read_entries
from .dispatches import company_server, hear_decisions, send_waiting
from .wire import Away, CompanyWire, TurnedDown

HEARTBEAT = timedelta(minutes=5)
LEASE = timedelta(minutes=5)
"""How long whoever synchronizes has the server for themselves; whoever is killed leaves it to the next."""
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 2, 5, 15, 30, 60))
"""How long to wait after each failure in a row; the last one from then on."""

log = structlog.get_logger()


@dataclass(frozen=True)
class Synced:
    """What came of one round with the company server."""

    server: str
    ok: bool
    trouble: str = ""
    sent: int = 0
    heard: int = 0
    kept: Kept = field(default_factory=Kept)


@dataclass(frozen=True)
class UpstreamStatus:
    """How things stand with the company server, for whoever runs this BigMind."""

    server: CompanyServer
    name: str
    entries: int
    waiting: int
    dispatches: list[Dispatch]
    unsent: list[CompanyEntry]


def sync_if_due() -> Synced | None:
    """Do a round with the company server when it is time to; return nothing when it is not, or there is none."""
    forget_other_servers()
    server = _claim_server()
    return _round(server) if server else None


def sync_now() -> Synced:
    """Do a round with the company server at once, whatever failed before.

    Raises:
        Conflict: there is none.
    """
    forget_other_servers()
    return _round(_require_server())


def try_again(actor: Actor) -> CompanyServer:
    """Let the worker ask the company server now, as an admin."""
    actor.require("admin")
    server = _require_server()
    CompanyServer.objects.filter(pk=server.pk).update(not_before=timezone.now())
    after_commit("curation.tasks.sync_with_company")
    return server


def connection(actor: Actor, *, shown: int = 20) -> UpstreamStatus | None:
    """Return how things stand with the company server, for an admin; nothing where there is none."""
    actor.require("admin")
    server = company_server()
    if server is None:
        return None
    dispatches = server.dispatches.select_related("entry", "server").order_by("-created_at", "-pk")
    own = CompanyEntry.objects.own().approved().proposed_by(actor.user).filter(dispatch=None)
    return UpstreamStatus(
        server=server,
        name=name_here(),
        entries=server.copies.count(),
        waiting=server.dispatches.to_send().count(),
        dispatches=list(dispatches[:shown]),
        unsent=list(own.order_by("-created_at", "-pk")[:shown]),
    )


def name_here() -> str:
    """How this BigMind is called at the company."""
    return (settings.INSTANCE_NAME or socket.gethostname() or "a BigMind")[:100]


def statistics_here() -> dict[str, int]:
    """Count what this BigMind holds. Nothing else of it is told."""
    return {
        "sessions": Session.objects.count(),
        "facts": Fact.objects.count(),
        "notes": Note.objects.count(),
        "entries": Entry.objects.count(),
        "agents": Agent.objects.count(),
        "proposals": Dispatch.objects.count(),
    }


def _require_server() -> CompanyServer:
    server = company_server()
    if server is None:
        raise Conflict("This BigMind has no company server.", hint="Set BIGMIND_COMPANY_URL and BIGMIND_COMPANY_KEY.")
    return server


@transaction.atomic
def _claim_server() -> CompanyServer | None:
    """Take the server for a round if it is due and nobody else has it."""
    known, now = company_server(), timezone.now()
    if known is None:
        return None
    due = CompanyServer.objects.filter(pk=known.pk, not_before__lte=now)
    server = due.select_for_update(skip_locked=True).first()
    if server:
        server.not_before = now + LEASE
        server.save(update_fields=["not_before"])
    return server


def _round(server: CompanyServer) -> Synced:
    wire = CompanyWire.from_settings()
    sent = heard = 0
    kept = Kept()
    try:
        mark = _report(server, wire)
        sent = send_waiting(server, wire)
        heard = hear_decisions(server, wire)
        kept = _read(server, wire, mark)
    except (Away, TurnedDown) as trouble:
        _put_off(server, str(trouble))
        return Synced(server.host, ok=False, trouble=str(trouble), sent=sent, heard=heard)
    _settle(server)
    return Synced(server.host, ok=True, sent=sent, heard=heard, kept=kept)


def _report(server: CompanyServer, wire: CompanyWire) -> str:
    """Say that this BigMind is there; return the mark of what the company knows."""
    told: dict[str, Any] = {"name": name_here(), "version": __version__, "statistics": statistics_here()}
    if settings.COMPANY_SEES_URL:
        told["url"] = settings.COMPANY_SEES_URL
    said = wire.register(server.identity, told)
    now = timezone.now()
    server.heard_at, server.registered_at = now, server.registered_at or now
    server.username, server.profile_url = said.instance.username, _link(said.instance.profile_url)
    server.save(update_fields=["heard_at", "registered_at", "username", "profile_url"])
    return said.knowledge


def _link(url: str) -> str:
    """An address that a page may link to."""
    return url if url.startswith(("https://", "http://")) else ""


def _read(server: CompanyServer, wire: CompanyWire, mark: str) -> Kept:
    """Read what the company knows, unless it is known here already."""
    kept = Kept(unreadable=server.unreadable)
    if mark != server.mark:
        entries, unreadable = read_entries(wire.approved())
        with transaction.atomic():
            kept = keep_copies(server, entries, unreadable=unreadable)
            server.mark, server.unreadable = mark, unreadable
            server.save(update_fields=["mark", "unreadable"])
    server.read_at = timezone.now()
    server.save(update_fields=["read_at"])
    return kept


def _settle(server: CompanyServer) -> None:
    server.attempts, server.trouble, server.troubled_at = 0, "", None
    server.not_before = timezone.now() + HEARTBEAT
    server.save(update_fields=["attempts", "trouble", "troubled_at", "not_before"])


def _put_off(server: CompanyServer, trouble: str) -> None:
    server.trouble, server.troubled_at = trouble[:1_000], timezone.now()
    server.not_before = timezone.now() + PAUSES[min(server.attempts, len(PAUSES) - 1)]
    server.attempts = min(server.attempts + 1, 1_000)
    server.save(update_fields=["attempts", "trouble", "troubled_at", "not_before"])
    log.warning("The company server was not reached.", server=server.host, trouble=server.trouble)

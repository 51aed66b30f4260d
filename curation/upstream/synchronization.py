"""Synchronization with the company server: register, send proposals, fetch decisions, copy approved entries."""

import socket
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
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

from .company_client import Away, CompanyWire, TurnedDown
from .copies import Kept, forget_other_servers, keep_copies, read_entries
from .outgoing_proposals import company_server, hear_decisions, send_waiting

HEARTBEAT = timedelta(minutes=5)
LEASE = timedelta(minutes=5)
"""How long one worker leases the server, from each of its requests on. If it is killed, the next one takes over."""
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 2, 5, 15, 30, 60))
"""How long to wait after each failure in a row; the last one from then on."""

log = structlog.get_logger()


@dataclass(frozen=True)
class Synced:
    """The result of one synchronization with the company server."""

    server: str
    ok: bool
    error: str = ""
    sent: int = 0
    heard: int = 0
    kept: Kept = field(default_factory=Kept)


@dataclass(frozen=True)
class UpstreamStatus:
    """The state of the connection to the company server, for admins."""

    server: CompanyServer
    name: str
    entries: int
    waiting: int
    dispatches: list[Dispatch]
    unsent: list[CompanyEntry]


def sync_if_due() -> Synced | None:
    """Synchronize with the company server if it is due; return None if it is not, or there is no server."""
    forget_other_servers()
    server = _claim_server()
    return _round(server) if server else None


def sync_now() -> Synced:
    """Synchronize with the company server now, also during the pause after a failure.

    Raises:
        Conflict: there is none.
    """
    forget_other_servers()
    # Without a lease: beside a worker, the keys of `send_waiting` and the lock of `keep_copies` let nothing be doubled.
    return _round(_require_server())


def try_again(actor: Actor) -> CompanyServer:
    """End the pause after a failure, so that the worker synchronizes now. For admins; returns the server."""
    actor.require("admin")
    server = _require_server()
    CompanyServer.objects.filter(pk=server.pk).update(not_before=timezone.now())
    after_commit("curation.tasks.sync_with_company")
    return server


def connection(actor: Actor, *, shown: int = 20) -> UpstreamStatus | None:
    """Return the state of the connection to the company server, for admins; None if there is no server."""
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
    """Return the name of this instance in the directory of the company."""
    return (settings.INSTANCE_NAME or socket.gethostname() or "a BigMind")[:100]


def statistics_here() -> dict[str, int]:
    """Return the counts that the company sees: numbers only, nothing of the content."""
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
    """Lease the server for one synchronization if it is due and no other worker has it; else return None."""
    known, now = company_server(), timezone.now()
    if known is None:
        return None
    due = CompanyServer.objects.filter(pk=known.pk, not_before__lte=now)
    server = due.select_for_update(skip_locked=True).first()
    if server:
        server.not_before = now + LEASE
        server.save(update_fields=["not_before"])
    return server


def _renew_lease(server: CompanyServer) -> None:
    """Lease the server for longer, unless it was made due meanwhile: a new proposal does not wait for a long list."""
    until = timezone.now() + LEASE
    if CompanyServer.objects.filter(pk=server.pk, not_before=server.not_before).update(not_before=until):
        server.not_before = until


def _round(server: CompanyServer) -> Synced:
    wire = CompanyWire.from_settings(before_each=partial(_renew_lease, server))
    sent = heard = 0
    kept = Kept()
    try:
        mark = _report(server, wire)
        sent = send_waiting(server, wire)
        heard = hear_decisions(server, wire)
        kept = _read(server, wire, mark)
    except (Away, TurnedDown) as error:
        _put_off(server, str(error))
        return Synced(server.host, ok=False, error=str(error), sent=sent, heard=heard)
    _settle(server)
    return Synced(server.host, ok=True, sent=sent, heard=heard, kept=kept)


def _report(server: CompanyServer, wire: CompanyWire) -> str:
    """Register this instance; return the mark of the company's knowledge, which changes whenever that does."""
    report: dict[str, Any] = {"name": name_here(), "version": __version__, "statistics": statistics_here()}
    if settings.COMPANY_SEES_URL:
        report["url"] = settings.COMPANY_SEES_URL
    reply = wire.register(server.identity, report)
    now = timezone.now()
    server.heard_at, server.registered_at = now, server.registered_at or now
    server.username, server.profile_url = reply.instance.username, _link(reply.instance.profile_url)
    server.save(update_fields=["heard_at", "registered_at", "username", "profile_url"])
    return reply.knowledge


def _link(url: str) -> str:
    """Return the address if a page may link to it (no `javascript:`), else an empty string."""
    return url if url.startswith(("https://", "http://")) else ""


def _read(server: CompanyServer, wire: CompanyWire, mark: str) -> Kept:
    """Copy the company's approved entries, unless the mark says that nothing has changed."""
    kept = Kept(unreadable=server.unreadable)
    # All of it, because a cursor over changes would miss what leaves or commits late (decision 15). The mark is older
    # than the list: what changes in between has another mark, and is read the next time.
    if mark != server.mark:
        entries, unreadable = read_entries(wire.read_approved())
        with transaction.atomic():
            kept = keep_copies(server, entries, unreadable=unreadable)
            server.mark, server.unreadable = mark, unreadable
            server.save(update_fields=["mark", "unreadable"])
    server.read_at = timezone.now()
    server.save(update_fields=["read_at"])
    return kept


def _settle(server: CompanyServer) -> None:
    server.attempts, server.error, server.failed_at = 0, "", None
    server.not_before = timezone.now() + HEARTBEAT
    server.save(update_fields=["attempts", "error", "failed_at", "not_before"])


def _put_off(server: CompanyServer, error: str) -> None:
    server.error, server.failed_at = error[:1_000], timezone.now()
    server.not_before = timezone.now() + PAUSES[min(server.attempts, len(PAUSES) - 1)]
    server.attempts = min(server.attempts + 1, 1_000)
    server.save(update_fields=["attempts", "error", "failed_at", "not_before"])
    log.warning("The company server was not reached.", outage="company server", server=server.host, error=server.error)

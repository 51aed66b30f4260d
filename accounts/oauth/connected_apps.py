"""Connected apps: how programs introduce themselves, how many may, and when they are removed."""

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from accounts.models import ConnectedApp
from bigmind.core.errors import TooMany
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.network.addresses import network_of

from .redirects import require_redirects

WITHIN = timedelta(hours=1)
INTRODUCED_FROM_AN_ADDRESS = 60
NEVER_LET_IN = 5_000
KEPT_UNUSED = timedelta(days=1)
CLIENT_ID_CHARS = 500


def app_called(client_id: str) -> ConnectedApp | None:
    """Return the app of this client id, if there is one."""
    # A NUL character would be an error of the database, not an app that is unknown.
    if len(client_id) > CLIENT_ID_CHARS or not client_id.isprintable():
        return None
    return ConnectedApp.objects.filter(client_id=client_id).first()


def require_room(address: str) -> None:
    """Refuse to register another app above the limits: anyone can register one, without signing in.

    Raises:
        TooMany: 60 came from this address within the hour, or 5,000 wait that nobody has let in.
    """
    recent = ConnectedApp.objects.filter(introduced_at__gt=timezone.now() - WITHIN)
    from_there = recent.filter(introduced_from=network_of(address)).count()
    if from_there >= INTRODUCED_FROM_AN_ADDRESS:
        raise TooMany("Too many apps introduced themselves from here.", retry_after=600)
    if ConnectedApp.objects.filter(let_in_at=None).count() >= NEVER_LET_IN:
        raise TooMany("Too many apps wait to be let in.", retry_after=3600)


@transaction.atomic
def introduce_app(client_id: str, *, name: str, redirect_uris: Sequence[str], address: str) -> ConnectedApp:
    """Register an app. It can do nothing until a user authorises it, and is deleted after a day without.

    Raises:
        Invalid: it may not send people back to where it wants to.
        TooMany: too many were introduced lately.
    """
    redirects = require_redirects(list(redirect_uris))
    # Counting and adding are one step: otherwise many requests at once would all find room.
    wait_for_turn(AdvisoryLock.CLIENT_REGISTRATION, "introduce")
    require_room(address)
    return ConnectedApp.objects.create(
        client_id=client_id, name=_readable(name), redirect_uris=redirects, introduced_from=network_of(address)
    )


def keep_document(client_id: str, *, name: str, redirect_uris: Sequence[str], address: str) -> ConnectedApp:
    """Keep what the document of an app says now.

    Raises:
        Invalid: it may not send people back to where it wants to.
        TooMany: too many were introduced lately.
    """
    app = app_called(client_id) or introduce_app(client_id, name=name, redirect_uris=redirect_uris, address=address)
    app.name, app.redirect_uris = _readable(name), require_redirects(list(redirect_uris))
    app.read_at = timezone.now()
    app.save(update_fields=["name", "redirect_uris", "read_at"])
    return app


def forget_unused_apps() -> int:
    """Delete apps that no user authorised within a day; return how many."""
    old = timezone.now() - KEPT_UNUSED
    apps, _ = ConnectedApp.objects.filter(introduced_at__lt=old, keys=None).delete()
    return apps


def _readable(name: str) -> str:
    """An app names itself as it likes: keep the printable part of it, in one line, up to the limit."""
    return " ".join("".join(char if char.isprintable() else " " for char in name).split())[:200]

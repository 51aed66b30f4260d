"""Connected apps: how programs introduce themselves, by document or by registering, and when they are removed."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from django.core.cache import cache
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import ConnectedApp
from accounts.services.rate_windows import count_in, this_minute
from bigmind.core.addresses import AddressRefused, fetch, network_of
from bigmind.core.errors import Invalid, TooMany
from bigmind.core.text import echo

REDIRECT_CHARS = 2000
MOST_REDIRECTS = 20
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*\Z")
_CARRIES = frozenset(
    ["about", "blob", "data", "file", "filesystem", "ftp", "javascript", "mailto", "vbscript", "ws", "wss"]
)
"""Schemes that a program on a machine does not own: a browser would run, read or send what they carry."""

WITHIN = timedelta(hours=1)
INTRODUCED_FROM_AN_ADDRESS = 60
NEVER_LET_IN = 5_000
KEPT_UNUSED = timedelta(days=1)
CLIENT_ID_CHARS = 500

DOCUMENT_BYTES = 10 * 1024
DOCUMENT_SECONDS = 5.0
READ_AGAIN_AFTER = timedelta(hours=1)
FETCHES_PER_MINUTE = 20
REFUSAL_KEPT = 60


def require_redirects(uris: list[str]) -> list[str]:
    """Return the places, each once.

    Raises:
        Invalid: there is none, there are too many, or one of them is not safe to send a code to.
    """
    if not uris:
        raise Invalid("redirect_uris must name at least one address.")
    if len(uris) > MOST_REDIRECTS:
        raise Invalid(f"redirect_uris must name {MOST_REDIRECTS} addresses or fewer.")
    for uri in uris:
        _require_redirect(uri)
    return list(dict.fromkeys(uris))


def is_redirect_of(wanted: str, known: list[str]) -> bool:
    """Whether a request asks for one of the known places: exactly, but on this machine on any port (RFC 8252)."""
    return wanted in known or (_is_loopback(wanted) and _without_port(wanted) in map(_without_port, known))


def is_this_machine(uri: str) -> bool:
    """Whether people are sent back to a program on their own machine."""
    return _is_loopback(uri) or urlsplit(uri).scheme not in {"http", "https"}


def _require_redirect(uri: str) -> None:
    shown = uri[:100]
    if len(uri) > REDIRECT_CHARS or not uri.isprintable() or " " in uri:
        raise Invalid(f"redirect_uris: {echo(shown)} must be an address of {REDIRECT_CHARS:,} characters or fewer.")
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError as error:
        raise Invalid(f"redirect_uris: {echo(shown)} is no address.") from error
    if "#" in uri or "@" in parts.netloc or "*" in uri:
        raise Invalid(f"redirect_uris: {echo(shown)} must have no fragment, no name before the host and no wildcard.")
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http":
        if parts.hostname not in LOOPBACK:
            raise Invalid(f"redirect_uris: {echo(shown)} must use https, or be on this machine.")
    elif not _SCHEME.match(parts.scheme) or parts.scheme in _CARRIES or ":" not in uri:
        raise Invalid(
            f"redirect_uris: {echo(shown)} must be an https address, one of this machine, or an app's own scheme."
        )


def _is_loopback(uri: str) -> bool:
    parts = urlsplit(uri)
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def _without_port(uri: str) -> str:
    parts = urlsplit(uri)
    if not _is_loopback(uri):
        return uri
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return parts._replace(netloc=host).geturl()


def app_called(client_id: str) -> ConnectedApp | None:
    """Return the app of this client id, if there is one."""
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
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('introduce-app', 0))")
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


@dataclass(frozen=True)
class ClientDocument:
    """What an app says of itself."""

    name: str
    redirect_uris: list[str]


def is_document_address(client_id: str) -> bool:
    """Whether a client id is the address of a document, as the specification wants them to look."""
    try:
        parts = urlsplit(client_id)
        _ = parts.port
    except ValueError:
        return False
    return (
        parts.scheme == "https"
        and bool(parts.hostname)
        and parts.path not in {"", "/"}
        and not parts.fragment
        and "@" not in parts.netloc
        and not {".", ".."} & set(parts.path.split("/"))
        and len(client_id) <= CLIENT_ID_CHARS
        and client_id.isprintable()
    )


def must_be_read(client_id: str, *, address: str) -> bool:
    """Whether the document is to be fetched now: it is not known, or was read more than an hour ago.

    Raises:
        TooMany: this address makes us fetch too much.
    """
    app = app_called(client_id)
    if app and app.read_at and app.read_at > timezone.now() - READ_AGAIN_AFTER:
        return False
    if app is None:
        require_room(address)
    _count_fetch(address)
    return True


def read_document(client_id: str) -> ClientDocument:
    """Fetch a document and return what it says. What could not be read is not asked for again for a minute.

    Raises:
        Invalid: it cannot be fetched, or is not one.
    """
    remembered = f"app-document:{client_id}"
    if problem := cache.get(remembered):
        raise Invalid(problem)
    try:
        return _document(client_id, _fetch_document(client_id))
    except Invalid as refusal:
        cache.set(remembered, str(refusal), REFUSAL_KEPT)
        raise


def _fetch_document(client_id: str) -> dict[str, Any]:
    try:
        answer = fetch(client_id, most_bytes=DOCUMENT_BYTES, seconds=DOCUMENT_SECONDS, **settings.OAUTH_DOCUMENTS)
    except AddressRefused as refusal:
        raise Invalid(f"The document of this app cannot be read. {refusal}") from refusal
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Invalid("The document of this app cannot be read: its address does not answer.") from error
    if answer.status != 200:
        raise Invalid(f"The document of this app cannot be read: its address answers with {answer.status}.")
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise Invalid("The document of this app is no JSON.") from error
    if not isinstance(document, dict):
        raise Invalid("The document of this app is no JSON object.")
    return document


def _document(client_id: str, document: dict[str, Any]) -> ClientDocument:
    if document.get("client_id") != client_id:
        raise Invalid("The document of this app names another client_id than its own address.")
    if document.get("token_endpoint_auth_method", "none") != "none":
        raise Invalid("The document of this app must say token_endpoint_auth_method: none. PKCE protects it.")
    if "client_secret" in document:
        raise Invalid("The document of this app holds a secret, which everyone can read.")
    uris, name = document.get("redirect_uris"), document.get("client_name", "")
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris) or not isinstance(name, str):
        raise Invalid("The document of this app must have redirect_uris, a list of addresses, and a client_name.")
    return ClientDocument(name, uris)


def _count_fetch(address: str) -> None:
    minute, seconds = this_minute(f"app-documents:{network_of(address)}")
    if count_in(minute) > FETCHES_PER_MINUTE:
        raise TooMany("Too many documents of apps were asked for.", retry_after=seconds)

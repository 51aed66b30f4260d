"""Client id metadata documents: an app introduces itself by the address of a document that describes it."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone

from accounts.services.rate_limits import count_one
from bigmind.core.errors import Invalid, TooMany
from bigmind.network.addresses import AddressRefused, fetch, network_of

from .connected_apps import CLIENT_ID_CHARS, app_called, require_room

DOCUMENT_BYTES = 10 * 1024
DOCUMENT_SECONDS = 5.0
READ_AGAIN_AFTER = timedelta(hours=1)
FETCHES_PER_MINUTE = 20
REFUSAL_KEPT = 60
"""Seconds. Otherwise anyone could have us call an address again and again by naming it as a client id."""


@dataclass(frozen=True)
class ClientDocument:
    """What an app says of itself."""

    name: str
    redirect_uris: list[str]


def is_document_address(client_id: str) -> bool:
    """Whether a client id is the address of a document, as the specification wants them to look."""
    try:
        parts = urlsplit(client_id)
        _ = parts.port  # `urlsplit` checks the port only when asked for it
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
    if seconds := count_one(f"app-documents:{network_of(address)}", FETCHES_PER_MINUTE):
        raise TooMany("Too many documents of apps were asked for.", retry_after=seconds)
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

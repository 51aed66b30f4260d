"""Redirect addresses: where an app may have people and codes sent back to."""

import re
from urllib.parse import urlsplit

from bigmind.core.errors import Invalid
from bigmind.network.addresses import LOOPBACK
from bigmind.text.hygiene import echo

REDIRECT_CHARS = 2000
MOST_REDIRECTS = 20
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*\Z")
_CARRIES = frozenset(
    ["about", "blob", "data", "file", "filesystem", "ftp", "javascript", "mailto", "vbscript", "ws", "wss"]
)
"""Schemes that a program on a machine does not own: a browser would run, read or send what they carry."""


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


def is_redirect_of(requested: str, known: list[str]) -> bool:
    """Whether a request asks for one of the known places: exactly, but on this machine on any port (RFC 8252)."""
    return requested in known or (_is_loopback(requested) and _without_port(requested) in map(_without_port, known))


def is_this_machine(uri: str) -> bool:
    """Whether people are sent back to a program on their own machine."""
    return _is_loopback(uri) or urlsplit(uri).scheme not in {"http", "https"}


def _require_redirect(uri: str) -> None:
    shown = uri[:100]
    if len(uri) > REDIRECT_CHARS or not uri.isprintable() or " " in uri:
        raise Invalid(f"redirect_uris: {echo(shown)} must be an address of {REDIRECT_CHARS:,} characters or fewer.")
    try:
        parts = urlsplit(uri)
        _ = parts.port  # `urlsplit` checks the port only when asked for it
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

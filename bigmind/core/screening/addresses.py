"""Credentials in addresses, headers and command lines: `postgres://user:password@host`, `Authorization: Bearer …`."""

import re
from base64 import b64decode
from collections.abc import Iterator

from .found import Secret
from .values import is_password, is_placeholder, is_stand_in, is_token

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,40}\Z")
_USERINFO = re.compile(r"(?P<user>[^\s:@/\"'<>`|]{0,128})(?::(?P<password>[^\s\"'`@]{1,256}))?@(?=[\w\[.{$(-])")
_PORT = re.compile(r"\d{1,5}(?:[/?#]|\Z)")
_AFTER_AT = re.compile(r"[^\s\"'`@/?#<>]{1,64}@(?=[\w\[])")
_BEARER = re.compile(r"[Bb](?:earer|EARER)(?:\s{1,4}|%20)(?P<token>[A-Za-z0-9._~+/=:-]{16,4000})")
_BASIC = re.compile(r"[Bb](?:asic|ASIC)\s{1,4}(?P<token>[A-Za-z0-9+/]{8,800}={0,2})")
_SCHEMED = re.compile(
    r"[Aa](?:uthorization|UTHORIZATION)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:[A-Za-z][\w-]{1,24}\s{1,4})?"
    r"(?P<token>[\w.~+/=:-]{16,2000})"
)
_COMMANDS = [
    (needle, re.compile(pattern))
    for needle, pattern in (
        (
            "curl",
            r"\bcurl\b[^\n|]{0,200}?\s(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,64}:(?P<p>[^\s\"']{4,128})",
        ),
        ("sshpass", r"\bsshpass\s{1,4}-p\s{0,4}[\"']?(?P<p>[^\s\"']{4,128})"),
        ("mysql", r"\bmysql\w{0,8}\b[^\n|;]{0,120}?\s-p[\"']?(?P<p>[^\s\"'-][^\s\"']{3,127})"),
        ("redis-cli", r"\bredis-cli\b[^\n|;]{0,120}?\s-a\s{1,4}[\"']?(?P<p>[^\s\"']{4,128})"),
        ("docker login", r"\bdocker login\b[^\n|;]{0,120}?\s-p\s{0,4}[\"']?(?P<p>[^\s\"']{4,128})"),
        (
            "htpasswd",
            r"\bhtpasswd\b[^\n|;]{0,80}?\s-\w{0,4}b\w{0,4}\s[^\n|;\s]{1,80}\s\S{1,40}\s(?P<p>[^\s\"']{4,128})",
        ),
        (" login ", r"\slogin\s{1,4}\S{1,80}\s{1,8}password\s{1,4}(?P<p>\S{4,128})"),
        (":", r"(?m)^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w.*-]{1,60}:(?P<p>\S{4,128})$"),
        (
            "@",
            r"(?<![\w:/.@-])[\w.-]{1,32}:(?=[^\s@]{0,63}[A-Z!#$%&*])(?P<p>[^\s:@/\"'`<>()]{6,64})@(?:\d{1,3}\.|[a-z0-9-]{1,60}(?:\.[a-z]|:\d))",
        ),
        (
            "red",
            r"\b[Cc]red(?:ential)?s?\b[^\n]{0,40}?[\s:\"'][\w.@-]{2,40}\s?[:/]\s?(?=[^\s]{0,63}[A-Z!#$%&*])(?P<p>[^\s\"'`]{6,64})",
        ),
        (
            "ogin",
            r"\b[Ll]ogin\b[^\n]{0,40}?[\s:\"'][\w.@-]{2,40}\s?[:/]\s?(?=[^\s]{0,63}[!#$%&*])(?P<p>[^\s\"'`]{6,64})",
        ),
    )
]
_SIGNED = re.compile(
    r"[?&](?:X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature|sig|signature|sv_sig|se_sig)=(?P<p>[\w%+/=-]{32,1000})"
)
# Sentry's DSN names a public key: it is made to stand in web pages.
_PUBLIC = re.compile(r"[\w.-]{0,60}(?:sentry\.|ingest\.)")


def find_addresses(text: str) -> Iterator[Secret]:
    """Find passwords and tokens in URLs, headers and command lines."""
    if "://" in text:
        yield from _in_urls(text)
    if any(word in text for word in ("earer", "EARER", "asic", "ASIC", "uthorization", "UTHORIZATION")):
        yield from _in_headers(text)
    for needle, pattern in _COMMANDS:
        if needle in text:
            for match in pattern.finditer(text):
                if is_password(match["p"].rstrip(".,;")):
                    yield Secret("password", *match.span("p"))
    for match in _SIGNED.finditer(text) if "=" in text else ():
        if is_token(match["p"], at_least=32):
            yield Secret("signature of a signed URL", *match.span("p"))


def _in_urls(text: str) -> Iterator[Secret]:
    at = text.find("://")
    while at >= 0:
        scheme = _SCHEME.search(text[max(0, at - 42) : at])
        # The password may have a slash or an @ of its own: the last @ before the path or a space counts.
        found = _USERINFO.match(text, at + 3)
        if scheme and found and not _PUBLIC.match(text, found.end()):
            yield from _credentials(text, found, scheme[0])
        at = text.find("://", at + 3)


def _credentials(text: str, found: re.Match[str], scheme: str) -> Iterator[Secret]:
    if found["password"] is not None:
        end = _last_at(text, found)
        whole = text[found.start("password") : end]
        if not (_PORT.match(whole) or is_default(found["user"], whole) or is_stand_in(whole)):
            yield Secret(f"password in a {scheme.lower()[:20]} address", found.start("password"), end)
    elif is_token(found["user"], at_least=20):
        yield Secret("token in an address", *found.span("user"))


def _last_at(text: str, found: re.Match[str]) -> int:
    """Where the password ends when it has an @ of its own, as in `p@ss@host`."""
    more = _AFTER_AT.match(text, found.end())
    return more.end() - 1 if more else found.end("password")


def is_default(user: str, password: str) -> bool:
    """Whether a password is what documentation and containers use: the name of the user, or that of the service."""
    return password.lower() == user.lower() or len(password) < 3


def _in_headers(text: str) -> Iterator[Secret]:
    for match in _BEARER.finditer(text):
        if is_token(match["token"].rstrip(".:"), at_least=16):
            yield Secret("bearer token", *match.span("token"))
    for match in _BASIC.finditer(text):
        if _is_login(match["token"]):
            yield Secret("basic credentials", *match.span("token"))
    for match in _SCHEMED.finditer(text):
        if is_token(match["token"], at_least=16):
            yield Secret("authorization header", *match.span("token"))


def _is_login(token: str) -> bool:
    """Whether it is a user name and a password in base64."""
    try:
        user, colon, password = b64decode(token + "=" * (-len(token) % 4)).decode().partition(":")
    except ValueError:
        return False
    return bool(colon and user.isprintable() and password.isprintable()) and not (
        is_placeholder(password) or is_default(user, password)
    )

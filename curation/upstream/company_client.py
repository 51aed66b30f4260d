"""The client of the company server's REST API, with time-outs, a size limit for each reply, and no redirects.

The key leaves this module only in the Authorization header: no error, log line or URL contains it.
"""

import ipaddress
import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import httpx
from django.conf import settings
from pydantic import BaseModel, ValidationError

from bigmind import __version__
from bigmind.network.addresses import is_packed
from bigmind.network.http_clients import Exchange, client_for, deadline
from bigmind.privacy.screening import redact
from bigmind.text.hygiene import one_line, show_hidden
from curation.shapes.upstream import UpstreamAnchorReport, UpstreamPage, UpstreamRegistration, UpstreamReply

TIMEOUT = httpx.Timeout(15.0, connect=5.0)
SECONDS_EACH = 30.0
"""How long one request with its whole reply may take."""
ANSWER_BYTES = 8 * 1024 * 1024
PAGE = 100
MOST_PAGES = 500
LIST_SECONDS = 240.0
"""How long reading one list may take."""
LIST_BYTES = 256 * 1024 * 1024
_TOO_SLOW = "It answers too slowly."
_BACK_SOON = frozenset({408, 425, 429})
"""Refusals (time-out, too early, too many) that the same request need not get again."""

Answer = TypeVar("Answer", bound=BaseModel)


class Away(Exception):
    """The company server is unreachable, or its reply is unusable. The message says why; retry later."""


class ListChanged(Away):
    """A list changed while it was read: what was read of it is part of two lists."""


class TurnedDown(Exception):
    """The company server refuses the request. Retrying it unchanged would not help."""

    def __init__(self, status: int, reason: str, entry_id: int | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.entry_id = entry_id


@dataclass(frozen=True)
class CompanyWire:
    """A client for the company server at one URL, with one key."""

    url: str
    key: str = field(repr=False)
    may_be_plain: bool = False
    before_each: Callable[[], None] | None = field(default=None, repr=False)
    """Called before each request: for a round of many, which must not lose its lease in between."""

    @classmethod
    def from_settings(cls, before_each: Callable[[], None] | None = None) -> "CompanyWire":
        """Return a client for the server that the settings name."""
        return cls(settings.COMPANY_URL, settings.COMPANY_KEY, settings.COMPANY_PLAIN_HTTP, before_each)

    def register(self, identity: UUID, registration: dict[str, Any]) -> UpstreamRegistration:
        """Register this instance, or update its registration.

        Raises:
            Away: the server is unreachable.
            TurnedDown: it refuses.
        """
        reply = self._ask("PUT", f"directory/instances/{identity}/", body=registration)
        return _read(UpstreamRegistration, reply)

    def count_approved(self) -> int:
        """Ask for the first approved entry alone, to see whether address and key are right; return how many there are.

        Raises:
            Away: the server is unreachable.
            TurnedDown: it refuses.
        """
        return _read(UpstreamPage, self._ask("GET", "company/", query={"limit": 1, "offset": 0})).total

    def propose(self, body: dict[str, Any], *, key: UUID) -> UpstreamReply:
        """Send a proposal. With the same key it is stored once, however often it is sent.

        Raises:
            Away: the server is unreachable.
            TurnedDown: it refuses.
        """
        return _read(UpstreamReply, self._ask("POST", "company/", body=body, headers={"Idempotency-Key": str(key)}))

    def read_anchors(self, kind: str) -> Iterator[dict[str, object]]:
        """Yield everything of a kind that cites code, page by page. They are not validated yet."""
        return self._pages("anchors/", kind=kind)

    def report_anchors(self, body: dict[str, Any]) -> UpstreamAnchorReport:
        """Report what a check of a repository found.

        Raises:
            Away: the server is unreachable.
            TurnedDown: it refuses.
        """
        return _read(UpstreamAnchorReport, self._ask("POST", "anchors/report/", body=body))

    def read_approved(self) -> Iterator[dict[str, object]]:
        """Yield every approved entry, page by page. They are not validated yet.

        Raises:
            Away: it stopped answering, or the list has changed meanwhile.
        """
        return self._pages("company/")

    def my_proposals(self) -> Iterator[dict[str, object]]:
        """Yield the proposals of the key's owner, the newest first. They are not validated yet."""
        return self._pages("company/mine/")

    def _pages(self, path: str, **query: str | int) -> Iterator[dict[str, object]]:
        total, offset, size, ends = None, 0, 0, time.monotonic() + LIST_SECONDS
        for _ in range(MOST_PAGES):
            page = _read(UpstreamPage, self._ask("GET", path, query=query | {"limit": PAGE, "offset": offset}))
            if total not in {None, page.total}:
                raise ListChanged("Its list changed while it was read; it is read again later.")
            size += len(json.dumps(page.items))
            if size > LIST_BYTES or len(page.items) > PAGE or time.monotonic() > ends:
                raise Away("Its list is larger than can be read, or comes too slowly.")
            yield from page.items
            total, offset = page.total, offset + len(page.items)
            if offset >= total or not page.items:
                return
        raise Away(f"Its list is longer than {MOST_PAGES * PAGE:,}.")

    def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        if self.before_each:
            self.before_each()
        address, host = self._check_address()
        sent = {
            "Authorization": f"Bearer {self.key}",
            "User-Agent": f"BigMind/{__version__}",
            "X-Agent-Host": socket.gethostname()[:100].encode("ascii", "replace").decode(),
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Host": host,
            **(headers or {}),
        }
        # Proxies of the environment only with TLS: in plain text, a proxy would read the key.
        is_secure = self.url.startswith("https://")
        with deadline(SECONDS_EACH) as exchange:
            more: dict[str, Any] = {
                "params": query,
                "json": body,
                "headers": sent,
                "timeout": TIMEOUT,
            }
            try:
                client = client_for(self.url, trust_env=is_secure)
                with client.stream(method, f"{address}/api/v1/{path}", **more) as reply:
                    status, text = reply.status_code, _body_of(reply, exchange)
            except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
                # The message of the error may contain the URL or a header, so only its type is passed on.
                reason = _TOO_SLOW if exchange.is_late else f"It does not answer ({type(error).__name__})."
                raise Away(reason) from None
        return self._answer(status, text)

    def _answer(self, status: int, text: bytes) -> Any:
        try:
            answer = json.loads(text) if text else None
        except (ValueError, RecursionError):
            answer = None
        if 200 <= status < 300 and answer is not None:
            return answer
        reason = self._reason(answer)
        if status in _BACK_SOON or status >= 500:
            raise Away(f"It answered {status}{reason}")
        if 300 <= status < 400:
            raise Away(f"It answered {status}, a redirection, which is not followed: look at BIGMIND_COMPANY_URL.")
        if status == 401:
            raise TurnedDown(status, "It does not accept the key: look at BIGMIND_COMPANY_KEY.")
        if 400 <= status < 500:
            raise TurnedDown(status, f"It answered {status}{reason}", _entry_in(answer))
        raise Away(f"It answered {status}, and not as a BigMind does: look at BIGMIND_COMPANY_URL.")

    def _reason(self, answer: Any) -> str:
        """Return the reason that the server gives, in one line, without secrets and never with the key."""
        detail = answer.get("detail") if isinstance(answer, dict) else None
        if not isinstance(detail, str) or not detail.strip():
            return "."
        return f": {redact(one_line(show_hidden(detail))[:500].replace(self.key, '(key)'))}"

    def _check_address(self) -> tuple[str, str]:
        """Return the URL to call and the Host header for it.

        With TLS, the certificate proves who answers. Without it, a name could resolve to anything: so it is resolved
        once, every address is checked, and a checked address is called instead of the name (no DNS rebinding).

        Raises:
            Away: the name does not resolve, or an address must not be called without TLS.
        """
        parts = urlsplit(self.url)
        if parts.scheme == "https":
            return self.url, parts.netloc
        try:
            found = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM)
        except OSError:
            raise Away(f"The name {parts.hostname} is unknown here.") from None
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
        if not all(address.is_loopback or (self.may_be_plain and _is_private(address)) for address in addresses):
            raise Away("It must be asked by https: its address is not on this machine, nor in a network you permitted.")
        first = addresses[0]
        literal = f"[{first}]" if first.version == 6 else str(first)
        return f"http://{literal}:{parts.port or 80}", parts.netloc


def _is_private(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_private and not (address.is_link_local or address.is_unspecified or address.is_multicast)


def _body_of(reply: httpx.Response, exchange: Exchange) -> bytes:
    """Read a reply up to the size limit and the deadline."""
    parts, size = [], 0
    if is_packed(reply):
        raise Away("It answers compressed, which was not asked for: look at BIGMIND_COMPANY_URL and proxies before it.")
    for part in reply.iter_raw():
        parts.append(part)
        size += len(part)
        if size > ANSWER_BYTES:
            raise Away(f"It answered more than {ANSWER_BYTES // 2**20} MB.")
        if exchange.is_late:
            break
    if exchange.is_late:
        raise Away(_TOO_SLOW)
    return b"".join(parts)


def _read(shape: type[Answer], answer: Any) -> Answer:
    try:
        return shape.model_validate(answer)
    except ValidationError:
        raise Away("It does not answer as a BigMind of this version does: is it older, or something else?") from None


def _entry_in(answer: Any) -> int | None:
    """Return the id of the conflicting entry that a refusal names, if any."""
    number = answer.get("entry_id") if isinstance(answer, dict) else None
    return number if isinstance(number, int) and 0 < number < 2**63 else None

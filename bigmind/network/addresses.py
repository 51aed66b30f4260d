"""Addresses that links may lead to and that BigMind may call: resolved once, then called within a deadline."""

import ipaddress
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ssl import SSLContext
from urllib.parse import urlsplit

import httpx

from bigmind.network.http_clients import client_for, deadline

REST_BYTES, REST_SECONDS = 16 * 1024, 1.0
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""What addresses on this machine call their host."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in [
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "2620:4f:8000::/48",
        "3fff::/20",
    ]
)
"""What the registries of special-purpose addresses (IANA, November 2026) hold, and multicast; of IPv6, within 2000::/3.

Written here, because what Python takes for global differs between its versions. Some of these (AS112, 6to4 relays) are
reachable, but by nothing that answers what BigMind asks for.
"""
PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")
"""What is assigned of IPv6; all else is special, or no one's yet."""
CARRY_IPV4 = (ipaddress.ip_network("::ffff:0:0/96"), ipaddress.ip_network("64:ff9b::/96"))
"""IPv6 addresses that end in one of IPv4, which is called in their stead: by the machine, or by a gateway (NAT64)."""


def linkable(url: str) -> str:
    """Return an http(s) address for a link; an empty text for any other, such as `javascript:`."""
    return url if url.lower().startswith(("http://", "https://")) else ""


def host_of(uri: str) -> str:
    """Return what a person recognises an address by: its host, or the scheme of a program on their machine."""
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in {"http", "https"} else f"{parts.scheme}:"


def path_in(address: str) -> str:
    """Return the path of an address; an empty one where it is none, such as `//[`."""
    try:
        return urlsplit(address).path
    except ValueError:
        return ""


def retry_after(header: str) -> float | None:
    """Return the seconds that a `Retry-After` header asks for: a number or a date; None where it is neither."""
    with suppress(ValueError):
        return max(0.0, float(header))
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    return None


class AddressRefused(Exception):
    """The address may not be called, or its answer is too long. The message says why."""


class Private(AddressRefused):
    """The address is in a private network."""


@dataclass(frozen=True)
class Fetched:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def public_address(url: str, *, may_be_private: bool = False) -> tuple[str, str]:
    """Return a URL that names an address instead of a host, and the host.

    The owner of a name could let it point to this machine or its network, and change their mind between the look-up
    and the call: so every address of the name is checked, and one that was checked is called.

    Raises:
        AddressRefused: it is no http(s) URL, the name is unknown, or an address of it is not public.
    """
    parts = urlsplit(url)
    host = parts.hostname
    if parts.scheme not in {"http", "https"} or not host:
        raise AddressRefused("It is no http or https address.")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise AddressRefused(f"The name {host} is unknown.") from error
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    if not may_be_private and any(not _is_public(address) for address in addresses):
        raise Private(f"{host} is in a private network.")
    first = addresses[0]
    literal = f"[{first}]" if first.version == 6 else str(first)
    return parts._replace(netloc=f"{literal}:{port}").geturl(), host


def post(
    url: str,
    body: bytes,
    headers: dict[str, str],
    *,
    may_be_private: bool = False,
    seconds: float = 10,
    most_bytes: int = 0,
) -> Fetched:
    """Send a body to a webhook, and return the status and the first `most_bytes` of what it says.

    Raises:
        AddressRefused: the address may not be called.
        httpx.HTTPError: it does not answer.
    """
    sent = {**headers, "Accept-Encoding": "identity"}
    with _answer("POST", url, body, sent, may_be_private=may_be_private, seconds=seconds) as answer:
        return Fetched(answer.status_code, answer.headers, _beginning_of(answer)[:most_bytes])


def _beginning_of(answer: httpx.Response) -> bytes:
    """Read a short answer to its end: only then its connection serves the next one. It was given already."""
    received = bytearray()
    with suppress(httpx.TransportError), deadline(REST_SECONDS):
        for piece in answer.iter_raw():
            received += piece
            if len(received) > REST_BYTES:
                break
    return bytes(received)


def fetch(
    url: str,
    *,
    most_bytes: int,
    seconds: float,
    may_be_private: bool = False,
    verify: bool | SSLContext = True,
) -> Fetched:
    """Return what an address answers: `most_bytes` at most, and within about `seconds`, however slowly it sends.

    Raises:
        AddressRefused: the address may not be called, it sends too much, or for too long.
        httpx.HTTPError: it does not answer.
    """
    body = bytearray()
    request_headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    with _answer(
        "GET", url, b"", request_headers, may_be_private=may_be_private, seconds=seconds, verify=verify
    ) as answer:
        try:
            for piece in answer.iter_raw():
                body += piece
                if len(body) > most_bytes:
                    raise AddressRefused(f"It sends more than {most_bytes:,} bytes.")
        except httpx.TimeoutException as error:
            raise AddressRefused(f"It sends for more than {seconds:g} seconds.") from error
        return Fetched(answer.status_code, answer.headers, bytes(body))


def is_packed(answer: httpx.Response) -> bool:
    """Return whether an answer is compressed although we asked for none that is: unpacked it may be of any size.

    A client that unpacks by itself has the whole of a piece in memory before anyone can count it, and a thousand times
    as much for each further layer.
    """
    return answer.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}


@contextmanager
def _answer(
    method: str,
    url: str,
    body: bytes,
    headers: dict[str, str],
    *,
    may_be_private: bool,
    seconds: float,
    verify: bool | SSLContext = True,
) -> Iterator[httpx.Response]:
    """Call the checked address under the name of its host. Redirects are not followed: they could lead anywhere."""
    address, host = public_address(url, may_be_private=may_be_private)
    sent = {**headers, "Host": urlsplit(url).netloc.rpartition("@")[2]}
    # Not by a proxy of the environment, nor with its passwords (.netrc): what was checked is what is called.
    client = client_for(f"{urlsplit(url).scheme}://{host}", verify=verify)
    with deadline(seconds):
        more = {"sni_hostname": host}
        request = client.build_request(
            method, address, content=body, headers=sent, extensions=more, timeout=httpx.Timeout(seconds)
        )
        answer = client.send(request, stream=True)
        try:
            yield answer
        finally:
            answer.close()


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if any(address in network for network in CARRY_IPV4):
        address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.version == 6 and address not in PUBLIC_IPV6:
        return False
    return not any(address in network for network in NOT_PUBLIC)


def network_of(address: str) -> str:
    """Return what counts as one address: for IPv6 the /64 network, because each customer has all of it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # a Unix socket has none
        return ""
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.ipv4_mapped:
        return str(ipaddress.ip_network((int(parsed), 64), strict=False))
    return str(parsed)

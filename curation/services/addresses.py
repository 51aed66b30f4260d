"""Addresses that a webhook may reach: public ones, looked up once and then used, so that no second answer differs."""

import ipaddress
import socket
from urllib.parse import urlsplit

import httpx


class Refused(Exception):
    """The address may not be called. The sentence says why."""


def public_address(url: str, *, may_be_private: bool = False) -> tuple[str, str]:
    """Return a URL that names an address instead of a host, and the host.

    Whoever controls a name could let it point to this machine or its network, and change its mind between the look-up
    and the call: so every address of the name is checked, and one that was checked is called.

    Raises:
        Refused: it is no http(s) URL, the name is unknown, or an address of it is not public.
    """
    parts = urlsplit(url)
    host = parts.hostname
    if parts.scheme not in {"http", "https"} or not host:
        raise Refused("It is no http or https address.")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Refused(f"The name {host} is unknown.") from error
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    if not may_be_private and any(not _is_public(address) for address in addresses):
        raise Refused(f"{host} is in a private network. BIGMIND_WEBHOOK_PRIVATE=true permits it.")
    first = addresses[0]
    literal = f"[{first}]" if first.version == 6 else str(first)
    return parts._replace(netloc=f"{literal}:{port}").geturl(), host


def post(url: str, body: bytes, headers: dict[str, str], *, may_be_private: bool = False, seconds: float = 10) -> int:
    """Send a body to a webhook, and return the status. A redirection is not followed: it could lead anywhere.

    Raises:
        Refused: the address may not be called.
        httpx.HTTPError: it does not answer.
    """
    address, host = public_address(url, may_be_private=may_be_private)
    named = urlsplit(url)
    sent = {**headers, "Host": named.netloc.rpartition("@")[2]}
    with httpx.Client(timeout=seconds, follow_redirects=False, trust_env=False) as client:
        request = client.build_request("POST", address, content=body, headers=sent, extensions={"sni_hostname": host})
        with_reply = client.send(request, stream=True)
        with_reply.close()
        return with_reply.status_code


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    return (mapped or address).is_global and not address.is_multicast

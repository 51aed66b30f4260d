"""Checking addresses that are set: what could never be reached, or would show a secret, is refused at the start."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator


def web_address(url: str) -> str:
    """Refuse what is no address of the web."""
    parts = urlsplit(url)
    if url and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise ValueError("must look like https://hooks.example.com/bigmind")
    refuse_unusable_port(url)
    return url


def networks_in(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the addresses and networks that a setting names, with commas between them.

    Raises:
        ValueError: one of them is neither.
    """
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())


def refuse_unusable_port(url: str) -> None:
    """Refuse an address whose port no server can have."""
    try:
        is_usable = urlsplit(url).port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ValueError("must have a port from 1 to 65535 after the host, or none")


def is_this_machine(host: str) -> bool:
    """Whether a host is the machine BigMind runs on."""
    return host in {"localhost", "::1"} or host.startswith("127.")


WebAddress = Annotated[str, AfterValidator(web_address)]

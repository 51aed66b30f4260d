"""Places: what counts as one address where tries from outside are counted."""

from ipaddress import IPv6Address, ip_address, ip_network


def place_of(address: str) -> str:
    """Return what counts as one address: of IPv6 the network, because everyone has 2^64 addresses in theirs."""
    try:
        parsed = ip_address(address)
    except ValueError:  # a Unix socket has none
        return ""
    if isinstance(parsed, IPv6Address) and not parsed.ipv4_mapped:
        return str(ip_network((int(parsed), 64), strict=False))
    return str(parsed)

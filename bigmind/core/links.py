"""Links: what a page may lead to, wherever the address comes from."""

from urllib.parse import urlsplit


def linkable(url: str) -> str:
    """Return an address that a link may lead to, http or https; of any other, such as `javascript:`, nothing."""
    return url if url.lower().startswith(("http://", "https://")) else ""


def host_of(uri: str) -> str:
    """Return what a person is to recognise a place by: its host, or the scheme that a program on the machine owns."""
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in {"http", "https"} else f"{parts.scheme}:"

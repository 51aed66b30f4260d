"""Links: what a page may lead to, wherever the address comes from."""


def linkable(url: str) -> str:
    """Return an address that a link may lead to, http or https; of any other, such as `javascript:`, nothing."""
    return url if url.lower().startswith(("http://", "https://")) else ""

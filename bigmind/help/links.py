"""Which part of the documentation explains which page: the “?” beside its title."""

from functools import cache

from django.http import HttpRequest

from bigmind.help.rendering import address_of

EXPLAINED: dict[str, str] = {
    "home": "home",
    "welcome": "welcome",
    "search": "search",
    "memory": "memory",
    "memory-import": "import",
    "memory-tidy": "tidying",
    "captured": "captured",
    "curation": "curation",
    "company": "company",
    "company-server": "company-server",
    "golden": "golden-questions",
    "kb": "knowledge-base",
    "docs": "reference-docs",
    "reference": "reference-docs",
    "apps": "app-maps",
    "app": "app-maps",
    "directory": "directory",
    "profile": "profile",
    "insights": "insights",
    "notices": "notices",
    "connect": "connect",
    "consent": "connect",
    "key": "keys",
    "keys": "keys",
    "password": "sign-in-and-security",
    "second": "sign-in-and-security",
    "sign": "sign-in-and-security",
    "invitation": "sign-in-and-security",
    "sso": "sign-in-and-security",
    "confirm": "sign-in-and-security",
    "people": "people",
    "person": "people",
    "private": "people",
    "invite": "people",
    "address": "people",
    "system": "system",
    "system-settings": "settings",
    "system-backups": "backups",
    "system-tests": "settings",
    "system-test": "settings",
    "sso-set-up": "sign-in-and-security",
    "settings": "settings",
    "deliveries": "deliveries",
    "webhooks": "webhooks",
    "webhook": "webhooks",
    "embeddings": "embeddings",
    "erasures": "erasures",
    "erasure": "erasures",
    "scrub": "erasures",
    "audit": "audit-log",
    "api": "api",
    "styleguide": "style-guide",
}
"""The anchor on the page “Pages”, by the name of a route or by how it begins: `memory` is also for `memory-facts`."""

PAGE = "pages"


@cache
def anchor_for(route: str) -> str:
    """Return the anchor that explains a route: that of its whole name, or of the longest beginning that is known."""
    words = route.split("-")
    names = ("-".join(words[:count]) for count in range(len(words), 0, -1))
    return next((EXPLAINED[name] for name in names if name in EXPLAINED), "")


def help_link(request: HttpRequest) -> dict[str, str]:
    """The address that explains the page at hand, for its header; empty within help, and where nothing matches."""
    route = getattr(request.resolver_match, "url_name", None) or ""
    anchor = anchor_for(route)
    return {"help_url": address_of(PAGE, anchor) if anchor else ""}

"""Every address that Django serves, and whom it is for: one without a rule fails `test_routes.py` (T1)."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any
from uuid import uuid4

from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

ANYONE = "anyone"
"""Answers without a sign-in, and says nothing about anyone."""
MEMBERS = "members"
"""For whoever is signed in: they see their own and what is shared, and nothing of the owner's."""
OWNER = "owner"
"""About one thing of one person: for another member it does not exist."""
CURATORS = "curators"
"""For curators and admins, or for whoever added what it is about."""
ADMINS = "admins"

RULES: dict[str, tuple[str, ...]] = {
    ANYONE: (
        *(
            "healthz", "readyz", "metrics", "api-docs", "api-toolset", "api-operation", "api-no-route", "openapi",
            "styleguide", "theme",
        ),
        *("help", "help-page", "help-file", "hooks"),
        *("sign-in", "sso", "sso-callback", "sign-in-code", "sign-in-link", "sign-out", "invitation"),
    ),
    MEMBERS: (
        *("home", "search-explain", "welcome", "connect", "key-create", "consent", "profile", "password", "keys"),
        *("second-factor", "second-factor-set-up", "second-factor-codes", "second-factor-remove"),
        *("confirm", "counts"),
        *("sign-ins", "sign-ins-end-elsewhere", "erasures", "scrub", "notices", "notices-seen", "notices-settings"),
        *("memory", "memory-facts", "memory-fact-new", "memory-sessions", "memory-notes", "memory-note-new"),
        *("memory-hypotheses", "memory-hypothesis-new", "memory-profile", "memory-context", "memory-aside"),
        *("memory-tidy", "memory-timeline"),
        *("memory-export", "memory-import", "memory-import-confirm", "memory-import-undo"),
        *("directory", "insights", "insights-gaps"),
        *("insights-knowledge", "insights-curation"),
        *("insights-gap-settle", "kb", "kb-new", "kb-entry", "company", "company-propose", "company-mine"),
        *("curation-keys", "docs", "docs-collection", "docs-coverage", "reference"),
        *("reference-versions", "reference-feedback", "apps", "apps-bootstrap", "apps-default", "apps-export"),
        *("apps-import", "apps-run", "app-map", "app-map-of-entity", "app-map-of-table", "app-map-of-workflow"),
        *("app-map-entity", "app-map-workflow", "captured", "captured-settings"),
    ),
    OWNER: (
        *("profile-sharing", "sign-in-end", "erasure-file", "key-new", "key-arrival", "key-rotate", "key-revoke"),
        *(
            "memory-fact", "memory-fact-level", "memory-session", "memory-session-correct", "memory-session-end",
            "memory-chunk",
        ),
        *("memory-note", "memory-note-edit", "memory-hypothesis", "memory-hypothesis-resolve"),
        *("memory-set-aside", "memory-restore", "memory-erase", "insights-question-forget", "insights-question-reopen"),
        *("company-entry", "company-revise", "company-withdraw", "company-discuss", "company-feedback"),
        *(
            "company-assign",
            "company-server-send",
            "curation-undo",
            "captured-conversation",
            "captured-forget",
        ),
        *("captured-exclude", "captured-forget-event"),
    ),
    CURATORS: (
        *("curation", "curation-bulk", "curation-entry", "curation-decide", "curation-comment", "curation-skip"),
        *("curation-claim", "curation-release", "curation-cluster", "company-due", "company-verify"),
        "company-level",
        *("golden-questions", "golden-check", "golden-unpin", "curation-radius"),
        *("kb-edit", "kb-level", "kb-delete", "reference-edit", "reference-decision"),
        *("docs-import", "docs-import-confirm", "docs-import-undo"),
        *("app-map-rebuild", "app-map-forget", "app-map-forget-part"),
    ),
    ADMINS: (
        *("people", "invite", "invitation-revoke", "address-unlock", "person", "person-role"),
        *("person-deactivate", "person-activate", "person-sign-out", "person-unlock", "person-password"),
        *("person-second-factor", "person-delete", "private-rows", "deliveries", "deliveries-again"),
        *("embeddings", "embeddings-retry", "embeddings-rebuild", "embeddings-stop"),
        *("company-server", "company-server-try", "system", "audit", "audit-export"),
        "system-settings",
        *("webhooks", "webhook-new", "webhook", "webhook-test", "webhook-rotate", "webhook-remove"),
        *("system-backups", "system-backup-start"),
        *("system-tests", "system-test", "sso-set-up", "sso-test"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Route:
    """One address: its name, and the names of what stands in it."""

    name: str
    parts: tuple[str, ...]

    def at(self, ids: dict[str, Any]) -> str:
        """Return the address with some ids in it; one that says more names the route with a dot."""
        return reverse(self.name, kwargs={part: ids.get(f"{self.name}.{part}", ids[part]) for part in self.parts})

    def somewhere(self) -> str:
        """Return an address, whatever stands in it."""
        for values in product((1, uuid4(), "x"), repeat=len(self.parts)):
            with suppress(NoReverseMatch):
                return reverse(self.name, kwargs=dict(zip(self.parts, values, strict=True)))
        raise AssertionError(f"No address of {self.name} was found.")


@cache
def routes() -> dict[str, Route]:
    """Return every address but the operations of the API and the admin site, which have tables of their own."""
    found = _patterns(get_resolver().url_patterns, "")
    return {one.name: Route(one.name, parts) for one, parts in found if one.name}


def _patterns(
    found: list[Any], before: str, parts: tuple[str, ...] = ()
) -> Iterator[tuple[URLPattern, tuple[str, ...]]]:
    for one in found:
        here, inside = before + str(one.pattern), (*parts, *one.pattern.converters)
        if here.startswith("admin/"):
            continue
        if isinstance(one, URLResolver):
            yield from _patterns(one.url_patterns, here, inside)
        elif not here.startswith("api/v1/") or one.name == "openapi":
            yield one, inside

"""Company knowledge, made for tests."""

from itertools import count
from typing import Any

from accounts.actor import Actor
from curation.services.decisions import approve_global
from curation.services.proposals import promote_to_global
from knowledge.models import CompanyEntry
from tests.factories import make_actor

_NUMBERS = count(1)


def propose(actor: Actor | None = None, **said: Any) -> CompanyEntry:
    """Propose something that nobody else has said; `said` overrides any part of it."""
    number = next(_NUMBERS)
    arguments = {
        "category": "standard",
        "title": f"Rule {number} for services",
        "content": f"Every service of kind {number} answers /healthz.",
        **said,
    }
    return promote_to_global(actor or make_actor(), **arguments).entry


def approved_entry(actor: Actor | None = None, *, curator: Actor | None = None, **said: Any) -> CompanyEntry:
    """Propose something, and let a curator approve it."""
    entry = propose(actor, **said)
    if entry.is_approved:
        return entry
    return approve_global(curator or make_actor(curator=True), entry_id=entry.pk, action="approve").entry

"""Company knowledge, made for tests."""

from collections.abc import Collection
from itertools import count
from string import ascii_lowercase
from typing import Any

from accounts.actor import Actor
from curation.decisions.deciding import Decision, approve_global
from curation.proposals.proposals import promote_to_global
from knowledge.models import CompanyEntry
from tests.factories import make_actor

_NUMBERS = count(1)


def propose(actor: Actor | None = None, **said: Any) -> CompanyEntry:
    """Propose something that nobody else has said or would deny; `said` overrides any part of it."""
    name = _name(next(_NUMBERS))
    arguments = {
        "category": "standard",
        "title": f"Health of {name}",
        "content": f"The service {name} answers /healthz.",
        **said,
    }
    return promote_to_global(actor or make_actor(), **arguments).entry


def approved_entry(
    actor: Actor | None = None, *, curator: Actor | None = None, despite: Collection[int] = (), **said: Any
) -> CompanyEntry:
    """Propose something, and let a curator approve it, also `despite` entries that it may contradict."""
    entry = propose(actor, **said)
    if entry.is_approved:
        return entry
    return decide_at_latest(
        curator or make_actor(curator=True), entry_id=entry.pk, action="approve", despite=[*despite]
    ).entry


def decide_at_latest(actor: Actor, *, entry_id: int, **said: Any) -> Decision:
    """Decide about an entry as someone who has just read it, and what it is merged into."""
    of = dict(CompanyEntry.objects.filter(pk__in=[entry_id, said.get("into")]).values_list("pk", "revision"))
    read = {"revision": of.get(entry_id, 1)} | ({"into_revision": of.get(said["into"], 1)} if "into" in said else {})
    return approve_global(actor, entry_id=entry_id, **{**read, **said})


def _name(number: int) -> str:
    """A name without digits: the same rule with another number would be a contradiction."""
    letters = ""
    while number:
        number, letter = divmod(number, 26)
        letters = f"{ascii_lowercase[letter]}{letters}"
    return f"service{letters}"

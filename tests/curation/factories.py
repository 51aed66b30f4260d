"""Company knowledge, made for tests."""

from itertools import count
from string import ascii_lowercase
from typing import Any

from accounts.actor import Actor
from curation.decisions.deciding import Decision, approve_global
from curation.decisions.history import derive_from_text, make_review, snapshot
from curation.decisions.who_may_decide import fields_of_approval
from curation.models import Action, Review
from curation.proposals.proposals import promote_to_global
from knowledge.kb.company import index_company_entry
from knowledge.models import CompanyEntry
from tests.factories import make_actor

_NUMBERS = count(1)


def propose(actor: Actor | None = None, **said: Any) -> CompanyEntry:
    """Propose something that nobody else has said or would deny; `said` overrides any part of it."""
    return promote_to_global(actor or make_actor(), **{**_something(), **said}).entry


def approved_entry(actor: Actor | None = None, *, curator: Actor | None = None, **said: Any) -> CompanyEntry:
    """Make an approved entry, searched and with its history, as proposing and approving it leaves it.

    It is written in a few queries instead of forty: nobody is told of it, and no other entry is looked at.
    """
    author, curator = actor or make_actor(), curator or make_actor(curator=True)
    people = {"proposed_by": author.user, "owner": author.user, "agent": author.agent}
    entry = CompanyEntry(**{**_something(), **said}, **people)
    proposed = snapshot(entry)
    for name, value in {**fields_of_approval(curator, entry, notes=""), "revision": 2}.items():
        setattr(entry, name, value)
    derive_from_text(entry)
    entry.save(force_insert=True)
    step = make_review(author, entry, Action.PROPOSE, last=None, before=None, after=proposed)
    Review.objects.bulk_create([step, make_review(curator, entry, Action.APPROVE, last=step, before=proposed)])
    index_company_entry(entry)
    return entry


def decide_at_latest(actor: Actor, *, entry_id: int, **said: Any) -> Decision:
    """Decide about an entry as someone who has just read it, and what it is merged into."""
    of = dict(CompanyEntry.objects.filter(pk__in=[entry_id, said.get("into")]).values_list("pk", "revision"))
    read = {"revision": of.get(entry_id, 1)} | ({"into_revision": of.get(said["into"], 1)} if "into" in said else {})
    return approve_global(actor, entry_id=entry_id, **{**read, **said})


def _something() -> dict[str, Any]:
    name = _name(next(_NUMBERS))
    return {
        "category": "standard",
        "title": f"Health of {name}",
        "content": f"The service {name} answers /healthz.",
    }


def _name(number: int) -> str:
    """A name without digits: the same rule with another number would be a contradiction."""
    letters = ""
    while number:
        number, letter = divmod(number, 26)
        letters = f"{ascii_lowercase[letter]}{letters}"
    return f"service{letters}"

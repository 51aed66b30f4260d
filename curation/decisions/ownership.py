"""Ownership: the user who keeps an approved entry up to date, and is notified of what happens to it."""

from django.db import transaction

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.vocabulary import Name
from curation.models import Action
from curation.vocabulary import CompanyEntryId, Revision
from knowledge.models import CompanyEntry

from .history import entry_to_change, record


@transaction.atomic
def assign_owner(
    actor: Actor, *, entry_id: CompanyEntryId, owner: Name, revision: Revision | None = None
) -> CompanyEntry:
    """Assign an approved entry to another owner, as a curator. They get a notice of every decision about it.

    Returns the entry.

    Raises:
        Conflict: it is not approved, it belongs to them already, or it changed since `revision`.
        Invalid: no active user has that name.
    """
    actor.require("curate")
    entry = entry_to_change(entry_id, revision=revision)
    if not entry.is_approved:
        raise Conflict(
            f"{entry.handle} is {entry.get_status_display().lower()}.", hint="Only approved entries change hands."
        )
    person = User.objects.filter(username__iexact=owner, is_active=True).first()
    if person is None:
        raise Invalid.of("owner", f"names nobody here: there is no {owner}. Use a user name")
    if person.pk == entry.owner_id:
        raise Conflict(f"{entry.handle} belongs to {person} already.")
    record(actor, entry, Action.ASSIGN, notes=f"From now on it belongs to {person}.", changes={"owner_id": person.pk})
    return entry

"""Archive and restore anything that is remembered: hidden, but not lost."""

from typing import Annotated

from django.db import transaction
from django.db.models import Model
from django.utils import timezone
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from bigmind.core.argument_types import Reason
from bigmind.core.choices import OneOf
from bigmind.core.errors import Invalid
from bigmind.core.handles import Handle
from bigmind.text.hygiene import check_content, echo
from knowledge.kinds import KIND_OF_WORD, KINDS, OWN, index_own, lock_own
from knowledge.models.base import CanBeSetAside
from knowledge.shapes.upkeep import RememberedShape

from .facts import deprecate_fact, own_fact, restore_fact

KindName = Annotated[str, OneOf(OWN), Field(description="What it is.")]
AnyId = Annotated[
    str,
    Handle(kind_in="kind"),
    AfterValidator(check_content),
    Field(min_length=1, max_length=36, description="Its id, as lists show it."),
]


@transaction.atomic
def set_aside(actor: Actor, *, kind: KindName, id: AnyId, reason: Reason = "Set aside.") -> RememberedShape:
    """Hide a fact, session, chunk, note or hypothesis everywhere. It is kept and can be restored.

    Call this when the user wants something kept, but no longer recalled. Returns what was set aside.
    """
    if kind == "fact":
        fact = own_fact(actor, _number(id))
        thing: Model = deprecate_fact(actor, fact_id=fact.pk, reason=reason) if fact.is_current else fact
    else:
        thing = _change(actor, kind, id, in_view=False)
    return RememberedShape(kind=kind, id=str(thing.pk), title=str(thing), in_view=False)


@transaction.atomic
def restore(actor: Actor, *, kind: KindName, id: AnyId) -> RememberedShape:
    """Restore what was set aside.

    Call this when the user changes their mind. Returns what is recalled again.
    """
    if kind == "fact":
        thing: Model = restore_fact(actor, fact_id=_number(id))
    else:
        thing = _change(actor, kind, id, in_view=True)
    return RememberedShape(kind=kind, id=str(thing.pk), title=str(thing), in_view=True)


def _change(actor: Actor, kind: str, id: str, *, in_view: bool) -> CanBeSetAside:
    is_numbered = KINDS[KIND_OF_WORD[kind]].read_id is int
    thing: CanBeSetAside = lock_own(actor, kind, _number(id) if is_numbered else id)
    if thing.is_in_view != in_view:
        thing.set_aside_at = None if in_view else timezone.now()
        thing.save(update_fields=["set_aside_at"])
        index_own(kind, thing)
    return thing


def _number(id: str) -> int:
    if not id.isascii() or not id.isdigit() or not 0 < int(id) < 2**63:
        problem = {"field": "id", "message": "must be the number that lists show"}
        raise Invalid(f"id {echo(id)} is not a number.", problems=[problem])
    return int(id)

"""Setting aside and restoring: out of sight without being lost, for everything that is remembered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import Model
from django.utils import timezone
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from bigmind.core.errors import Invalid, NotFound
from bigmind.core.handles import Handle
from bigmind.core.text import check_content
from bigmind.core.vocabulary import Reason
from knowledge.models import Note, Session
from knowledge.models.archive import CanBeSetAside

from .current_sessions import own_session
from .facts import deprecate_fact, own_fact, restore_fact
from .hypotheses import index_hypothesis, own_hypothesis
from .notes import index_note
from .people import index_person
from .sessions import index_chunk, index_session, own_chunk

KindName = Annotated[Literal["fact", "session", "chunk", "note", "hypothesis"], Field(description="What it is.")]
AnyId = Annotated[
    str,
    Handle(kind_in="kind"),
    AfterValidator(check_content),
    Field(min_length=1, max_length=36, description="Its id, as lists show it."),
]


@dataclass(frozen=True)
class Remembered:
    """What was set aside or restored, and whether it is recalled now."""

    kind: str
    id: str
    title: str
    in_view: bool


@transaction.atomic
def set_aside(actor: Actor, *, kind: KindName, id: AnyId, reason: Reason = "Set aside.") -> Remembered:
    """Take a fact, session, chunk, note or hypothesis out of sight: hidden everywhere, kept, and restorable.

    Call this when the user wants something not to be recalled, without losing it. Returns what was set aside.
    """
    if kind == "fact":
        fact = own_fact(actor, _number(id))
        thing: Model = deprecate_fact(actor, fact_id=fact.pk, reason=reason) if fact.is_current else fact
    else:
        thing = _change(actor, kind, id, in_view=False)
    return Remembered(kind, str(thing.pk), str(thing), in_view=False)


@transaction.atomic
def restore(actor: Actor, *, kind: KindName, id: AnyId) -> Remembered:
    """Bring back what was set aside.

    Call this when the user changes their mind. Returns what is recalled again from now on.
    """
    if kind == "fact":
        thing: Model = restore_fact(actor, fact_id=_number(id))
    else:
        thing = _change(actor, kind, id, in_view=True)
    return Remembered(kind, str(thing.pk), str(thing), in_view=True)


def _change(actor: Actor, kind: str, id: str, *, in_view: bool) -> CanBeSetAside:
    find, index = _KINDS[kind]
    thing: CanBeSetAside = find(actor, id)
    if thing.is_in_view != in_view:
        thing.set_aside_at = None if in_view else timezone.now()
        thing.save(update_fields=["set_aside_at"])
        index(thing)
    return thing


def _own_note(actor: Actor, id: str) -> Note:
    note = Note.objects.of(actor.user).select_for_update().filter(pk=_number(id)).first()
    if note is None:
        raise NotFound(f"You have no note {id}.", hint="knowledge_get shows yours.")
    return note


def _own_session(actor: Actor, id: str) -> Session:
    return own_session(actor, id, Session.objects.select_for_update(of=("self",)))


def _index_session_and_chunks(session: Session) -> None:
    index_session(session)
    for chunk in session.chunks.select_related("session", "user"):
        index_chunk(chunk)
    index_person(session.user)


def _number(id: str) -> int:
    if not id.isascii() or not id.isdigit() or not 0 < int(id) < 2**63:
        problem = {"field": "id", "message": "must be the number that lists show"}
        raise Invalid(f"id “{id}” is not a number.", problems=[problem])
    return int(id)


_KINDS: dict[str, tuple[Callable[[Actor, str], Any], Callable[[Any], None]]] = {
    "session": (_own_session, _index_session_and_chunks),
    "chunk": (lambda actor, id: own_chunk(actor, _number(id)), index_chunk),
    "note": (_own_note, index_note),
    "hypothesis": (lambda actor, id: own_hypothesis(actor, _number(id)), index_hypothesis),
}

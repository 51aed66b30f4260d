"""Notes: personal texts addressed by domain and key (seed 004), which may expire.

The writer says when (`expires_at`); `knowledge/models/notes.py:NoteQuerySet` decides which ones have expired.
"""

from typing import Annotated

from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.services.idempotency import forget_kept_replies
from bigmind.core.argument_types import Content, Cursor, Limit, Offset, Project, Until
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.database.pagination import Page, page_of
from bigmind.privacy.screening.policy import Screened
from bigmind.text.hygiene import mention
from knowledge.argument_types import Domain, Key
from knowledge.models import Kind, Note
from knowledge.models.base import delete_keeping_id
from knowledge.search.nearest_names import SUGGEST_FROM, nearest_or
from knowledge.search.passages import erase_passages, index_passages

Expiry = Annotated[Until, Field(description="When it stops being true.")]
NewDomain = Annotated[Domain, Screened, Field(description="Its new domain. Default: the same.")]
NewKey = Annotated[Key, Screened, Field(description="Its new key. Default: the same.")]


@transaction.atomic
def set_note(
    actor: Actor,
    *,
    domain: Annotated[Domain, Screened],
    key: Annotated[Key, Screened],
    content: Content,
    expires_at: Expiry | None = None,
    project: Project = "",
) -> Note:
    """Create or replace the note at this domain and key: a rule or preference in plain words.

    Call this when the user says “remember this” about an area such as email or calendar. Returns the note as stored.
    """
    now = timezone.now()
    if expires_at and expires_at <= now:
        raise Invalid(
            "expires_at lies in the past.",
            problems=[{"field": "expires_at", "message": "must lie ahead, or be left out"}],
        )
    # Locked, so that it is not set aside meanwhile.
    _refuse_set_aside(Note.objects.of(actor.user).select_for_update().filter(domain=domain, key=key).first())
    values = {"content": content, "expires_at": expires_at, "project": project, "updated_at": now}
    note, _ = Note.objects.update_or_create(
        user=actor.user, domain=domain, key=key, defaults=values, create_defaults={**values, "created_at": now}
    )
    index_note(note, made=True)
    return note


def get_notes(
    actor: Actor,
    *,
    domain: Domain | None = None,
    key: Key | None = None,
    limit: Limit = 50,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[Note]:
    """Read notes: one (domain and key), all of a domain, or all there are.

    Call this before you act in an area the user may have rules for: with domain `email` before reading email, say.
    Returns the notes, by domain and key.
    """
    notes = Note.objects.of(actor.user).current().order_by("domain", "key")
    if key is not None:
        if domain is None:
            problem = {"field": "domain", "message": "is required when key is given"}
            raise Invalid("domain is required when key is given.", problems=[problem])
        return Page([own_note(actor, domain, key)], total=1, limit=limit, offset=0)
    if domain is not None:
        notes = notes.filter(domain=domain)
    return page_of(notes, limit=limit, offset=offset, cursor=cursor)


@transaction.atomic
def delete_note(actor: Actor, *, domain: Domain, key: Key) -> Note:
    """Delete the note at this domain and key.

    Call this when the rule no longer holds. Returns what was deleted; it cannot be undone. A note set aside goes too.
    """
    mine = Note.objects.of(actor.user).select_for_update().filter(domain=domain, key=key)
    # Archived and expired notes go, too; where there is none, `own_note` names the nearest keys.
    note = mine.first() or own_note(actor, domain, key)
    erase_passages(Kind.NOTE, [note.pk])
    forget_kept_replies(actor.user)
    delete_keeping_id(note)
    return note


@transaction.atomic
def erase_note(actor: Actor, *, note_id: int) -> Note:
    """Delete the note with this id, as `delete_note` does."""
    note = lock_note(actor, note_id)
    return delete_note(actor, domain=note.domain, key=note.key)


@transaction.atomic
def rename_note(
    actor: Actor, *, domain: Domain, key: Key, new_domain: NewDomain | None = None, new_key: NewKey | None = None
) -> Note:
    """Move a note to another domain, another key, or both; its content stays.

    Call this to tidy up. Refused if a note exists there. Returns the note at its new address.
    """
    note = own_note(actor, domain, key, lock=True)
    target = (new_domain or domain, new_key or key)
    if target == (note.domain, note.key):
        return note
    there = Note.objects.of(actor.user).filter(domain=target[0], key=target[1])
    _refuse_set_aside(there.first())
    # An expired note keeps its address until the sweep: it must not block the new one.
    expired = there.expired()
    erase_passages(Kind.NOTE, expired.values_list("pk", flat=True))
    expired.delete()
    note.domain, note.key, note.updated_at = *target, timezone.now()
    try:
        with transaction.atomic():
            note.save(update_fields=["domain", "key", "updated_at"])
    except IntegrityError as error:
        raise Conflict(
            f"There is a note {mention(note)} already.", hint="Delete it first, or choose another key."
        ) from error
    index_note(note)
    return note


def note_domains(actor: Actor) -> dict[str, int]:
    counted = Note.objects.of(actor.user).current().values_list("domain").annotate(Count("id")).order_by("domain")
    return dict(counted)


def own_note(actor: Actor, domain: str, key: str, *, lock: bool = False) -> Note:
    """Return the actor's note at this address, locked until the transaction ends if asked for.

    Raises:
        NotFound: there is none; the hint names the nearest keys there are.
    """
    mine = Note.objects.of(actor.user).current()
    note = (mine.select_for_update() if lock else mine).filter(domain=domain, key=key).first()
    if note is None:
        addresses = [str(other) for other in mine.only("domain", "key")[:SUGGEST_FROM]]
        hint = nearest_or(f"{domain}/{key}", addresses, "knowledge_get without arguments lists yours.")
        raise NotFound(f"You have no note {mention(f'{domain}/{key}')}.", hint=hint)
    return note


def lock_note(actor: Actor, note_id: int) -> Note:
    """Return the actor's note with this id, archived or not, locked until the transaction ends.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    note = Note.objects.of(actor.user).select_for_update().filter(pk__in=actor.user.ids_of(note_id)).first()
    if note is None:
        raise NotFound(f"You have no note {note_id}.", hint="knowledge_get shows yours.")
    return note


def _refuse_set_aside(hidden: Note | None) -> None:
    """An archived note can be restored, so nothing may replace it unasked."""
    if hidden and hidden.set_aside_at:
        hint = f"Bring it back with memory_restore (kind note, id {hidden.number}), or delete it with knowledge_delete."
        raise Conflict(f"The note {mention(hidden)} has been set aside.", hint=hint, note_id=hidden.number)


def forget_expired_notes() -> int:
    """Delete the notes past their expiry, with their passages; return how many. The scheduler calls this."""
    with transaction.atomic():
        expired = list(Note.objects.expired().select_for_update(skip_locked=True).values_list("pk", flat=True)[:1000])
        erase_passages(Kind.NOTE, expired)
        Note.objects.filter(pk__in=expired).delete()
    return len(expired)


def index_note(note: Note, *, made: bool = False) -> None:
    """Write the passage of a note: its address and its content. One set aside has none."""
    if not note.is_in_view:
        erase_passages(Kind.NOTE, [note.pk])
        return
    text = f"{note.domain} {note.key}\n\n{note.content}"
    index_passages(Kind.NOTE, note.pk, [text], owner=note.user, project=note.project, made=made)

"""Chunks: the exchanges of a session that are kept word for word, stored, corrected, erased and indexed."""

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.actor import Actor
from accounts.services.idempotency import forget_kept_replies
from bigmind.core.argument_types import Content
from bigmind.core.errors import NotFound
from knowledge.argument_types import ChunkId, FlagReason, Role, SessionId
from knowledge.models import Chunk, Kind, Session
from knowledge.models.base import delete_keeping_id
from knowledge.search.passages import erase_passages, index_passages

from .current_sessions import session_of_exchange


@transaction.atomic
def flag_important(
    actor: Actor, *, content: Content, flag_reason: FlagReason = "", session_id: SessionId | None = None
) -> Chunk:
    """Remember the current exchange: your account of it, and why it matters.

    Call this at once when a decision is made, a bug is understood or the user says “remember this”.
    Returns the stored chunk.
    """
    return append_chunk(actor, role="assistant", content=content, flag_reason=flag_reason, session_id=session_id)


@transaction.atomic
def append_chunk(
    actor: Actor,
    *,
    role: Role,
    content: Content,
    flag_reason: FlagReason = "",
    session_id: SessionId | None = None,
) -> Chunk:
    """Keep one important message of the conversation word for word.

    Call this only for what matters (a decision, a diagnosis, a preference), never for every turn: filler spoils
    recall. Returns the stored chunk with its place in the session.
    """
    return add_chunk(session_of_exchange(actor, session_id), role=role, content=content, flag_reason=flag_reason)


def add_chunk(session: Session, *, role: str, content: str, flag_reason: str = "") -> Chunk:
    """Store an exchange at the end of a session, which is locked, and index it."""
    last = session.chunks.aggregate(last=Max("seq"))["last"] or 0
    chunk = Chunk.objects.create(
        session=session, user=session.user, role=role, content=content, flag_reason=flag_reason, seq=last + 1
    )
    index_chunk(chunk, made=True, is_new=True)
    return chunk


@transaction.atomic
def correct_chunk(
    actor: Actor, *, chunk_id: ChunkId, content: Content | None = None, flag_reason: FlagReason | None = None
) -> Chunk:
    """Correct a flagged exchange, or why it was flagged.

    Call this when it was recorded wrongly. Omitted arguments stay unchanged. Returns the chunk.
    """
    chunk = own_chunk(actor, chunk_id)
    chunk.content = chunk.content if content is None else content
    chunk.flag_reason = chunk.flag_reason if flag_reason is None else flag_reason
    chunk.save(update_fields=["content", "flag_reason"])
    index_chunk(chunk)
    return chunk


@transaction.atomic
def erase_chunk(actor: Actor, *, chunk_id: ChunkId) -> Chunk:
    """Erase one flagged exchange for good, wherever it is stored.

    Call this only when the user asks to forget it. Returns what was erased; it cannot be undone.
    """
    chunk = own_chunk(actor, chunk_id)
    erase_passages(Kind.CHUNK, [chunk.pk])
    forget_kept_replies(actor.user)
    delete_keeping_id(chunk)
    return chunk


def index_chunk(chunk: Chunk, *, made: bool = False, is_new: bool = False) -> None:
    """Write the passage of a chunk: its content and why it was flagged. One set aside has none, nor has an echo."""
    if chunk.is_echo or not (chunk.is_in_view and chunk.session.is_in_view):
        erase_passages(Kind.CHUNK, [chunk.pk])
        return
    project = chunk.session.project
    index_passages(
        Kind.CHUNK,
        chunk.pk,
        [text_of(chunk)],
        owner=chunk.user,
        project=project,
        head=head_of(chunk),
        moment=chunk.created_at,
        made=made,
        is_new=is_new,
    )


def text_of(chunk: Chunk) -> str:
    """Return the words of a chunk that are searched: its content and why someone flagged it."""
    return chunk.content if chunk.is_kept_by_machine else f"{chunk.content}\n\n{chunk.flag_reason}".strip()


def head_of(chunk: Chunk) -> str:
    """Return what makes a chunk understandable alone: who said it, when, and the headline of the conversation."""
    # The day in words, as questions name it: vectors and words find nothing by a date that stands beside the text.
    day = timezone.localtime(chunk.created_at, chunk.user.zone)
    when = f"{day:%A} {day.day} {day:%B %Y}"
    return ": ".join(part for part in (f"{chunk.role}, {when}", chunk.session.own_headline) if part)


def own_chunk(actor: Actor, chunk_id: int) -> Chunk:
    """Return the actor's chunk with this id, locked until the transaction ends.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    mine = Chunk.objects.select_related("session").select_for_update(of=("self",))
    chunk = mine.filter(user=actor.user, pk__in=actor.user.ids_of(chunk_id)).first()
    if chunk is None:
        raise NotFound(f"You have no chunk {chunk_id}.", hint="memory_search_chunks finds yours.")
    return chunk

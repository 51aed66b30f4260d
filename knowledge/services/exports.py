"""Export and import: everything a user owns as one document, there and back without loss."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal
from uuid import UUID, uuid5

from django.db import transaction
from django.db.models import Prefetch
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field

from accounts.actor import Actor
from accounts.models import Profile
from accounts.services.profiles import get_profile
from accounts.vocabulary import JobTitle
from bigmind.core.text import digest
from bigmind.core.vocabulary import Confidence, Content, Importance, LongText, Moment, Project, Tags
from knowledge.models import Chunk, Fact, Hypothesis, Kind, Note, Session, Summary
from knowledge.search.passages import index_passages
from knowledge.vocabulary import CategoryName, Domain, Key, Role

from .hypotheses import index_hypothesis
from .notes import index_note
from .sessions import index_chunk, index_session


class _Exported(BaseModel):
    model_config = ConfigDict(from_attributes=True, extra="forbid")


class ExportedProfile(_Exported):
    """Who the user is."""

    role: JobTitle = ""
    preferences: LongText = ""
    pinned_facts: list[Content] = []
    updated_at: Moment | None = None


class ExportedFact(_Exported):
    """One fact. `id` and `superseded_by` refer to each other within the document."""

    id: int
    category: CategoryName
    fact: Content
    confidence: Confidence = 1.0
    project: Project = ""
    source_session: UUID | None = Field(default=None, validation_alias="source_session_id")
    superseded_by: int | None = Field(default=None, validation_alias="superseded_by_id")
    deprecated_at: Moment | None = None
    deprecation_reason: LongText = ""
    created_at: Moment

    model_config = ConfigDict(from_attributes=True, extra="forbid", validate_by_name=True, validate_by_alias=True)


class _CanBeSetAside(_Exported):
    set_aside_at: Moment | None = None


class ExportedChunk(_CanBeSetAside):
    """One flagged exchange."""

    seq: Annotated[int, Field(ge=1, le=2**31 - 1)]
    role: Role
    content: Content
    flag_reason: LongText = ""
    created_at: Moment


class ExportedSummary(_Exported):
    """The narrative of a session."""

    summary: LongText = ""
    key_facts: list[Content] = []
    code_refs: list[Content] = []
    created_at: Moment


class ExportedSession(_CanBeSetAside):
    """One conversation, with its summary and its chunks."""

    id: UUID
    project: Project = ""
    started_at: Moment
    ended_at: Moment | None = None
    one_liner: Annotated[LongText, Field(max_length=120)] = ""
    topics: Tags = []
    outcome: LongText = ""
    importance: Importance = 5
    auto_closed: bool = False
    summary: ExportedSummary | None = None
    chunks: list[ExportedChunk] = []


class ExportedHypothesis(_CanBeSetAside):
    """One belief."""

    hypothesis: Content
    confidence: Confidence = 0.7
    status: Literal["open", "confirmed", "refuted", "abandoned"] = "open"
    resolution: LongText = ""
    project: Project = ""
    session: UUID | None = Field(default=None, validation_alias="session_id")
    created_at: Moment
    resolved_at: Moment | None = None

    model_config = ConfigDict(from_attributes=True, extra="forbid", validate_by_name=True, validate_by_alias=True)


class ExportedNote(_CanBeSetAside):
    """One note."""

    domain: Domain
    key: Key
    content: Content
    project: Project = ""
    expires_at: Moment | None = None
    created_at: Moment
    updated_at: Moment


class MemoryDocument(_Exported):
    """Everything a user owns. The format is versioned: a reader refuses a version it does not know."""

    format: Literal["bigmind-memory"] = "bigmind-memory"
    version: Literal[1] = 1
    exported_at: Moment | None = None
    profile: ExportedProfile | None = None
    sessions: list[ExportedSession] = []
    facts: list[ExportedFact] = []
    hypotheses: list[ExportedHypothesis] = []
    notes: list[ExportedNote] = []


Document = Annotated[MemoryDocument, Field(description="What memory_export returned, whole or a part of it.")]
TryOnly = Annotated[bool, Field(description="True: only say what would happen.")]


@dataclass
class Imported:
    """What an import added, and what was there already."""

    dry_run: bool
    added: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)

    def count(self, kind: str, *, is_new: bool) -> None:
        """Count one item."""
        for name, counts in ((True, self.added), (False, self.known)):
            counts[kind] = counts.get(kind, 0) + (name is is_new)


class _DryRun(Exception):
    """Rolls an import back after it has been counted."""


def export_memory(actor: Actor) -> MemoryDocument:
    """Export everything that is remembered of the user as one JSON document.

    Call this for a backup or to move to another BigMind: memory_import takes the document back without loss.
    """
    user = actor.user
    sessions = Session.objects.of(user).order_by("started_at", "id").select_related("summary")
    sessions = sessions.prefetch_related(Prefetch("chunks", Chunk.objects.order_by("seq")))
    profile = get_profile(actor)
    return MemoryDocument(
        exported_at=timezone.now(),
        profile=None if profile.is_empty else ExportedProfile.model_validate(profile),
        sessions=[_exported_session(session) for session in sessions],
        facts=[ExportedFact.model_validate(fact) for fact in Fact.objects.of(user).order_by("created_at", "id")],
        hypotheses=[
            ExportedHypothesis.model_validate(belief)
            for belief in Hypothesis.objects.filter(user=user).order_by("created_at", "id")
        ],
        notes=[ExportedNote.model_validate(note) for note in Note.objects.of(user).order_by("domain", "key")],
    )


def import_memory(actor: Actor, *, document: Document, dry_run: TryOnly = False) -> Imported:
    """Import a document that memory_export made, into the memory of the caller.

    Call this to restore or to merge: what is there already stays as it is, so that importing twice changes nothing.
    Returns how many of each kind were added and how many were known. One wrong item refuses the whole document.
    """
    imported = Imported(dry_run)
    try:
        with transaction.atomic():
            _import(actor, document, imported)
            if dry_run:
                raise _DryRun
    except _DryRun:
        pass
    return imported


def _import(actor: Actor, document: MemoryDocument, imported: Imported) -> None:
    _import_profile(actor, document.profile, imported)
    sessions = {one.id: _import_session(actor, one, imported) for one in document.sessions}
    _import_facts(actor, document.facts, sessions, imported)
    for belief in document.hypotheses:
        _import_hypothesis(actor, belief, sessions, imported)
    for note in document.notes:
        _import_note(actor, note, imported)


def _import_profile(actor: Actor, told: ExportedProfile | None, imported: Imported) -> None:
    if told is None:
        return
    profile = get_profile(actor)
    is_new = profile.is_empty
    if is_new:
        profile.role, profile.preferences, profile.pinned_facts = told.role, told.preferences, told.pinned_facts
        profile.save()
        if told.updated_at:
            Profile.objects.filter(pk=profile.pk).update(updated_at=told.updated_at)
    imported.count("profile", is_new=is_new)


def _import_session(actor: Actor, told: ExportedSession, imported: Imported) -> Session:
    known = Session.objects.filter(pk__in=[told.id, _own_id(actor, told.id)], user=actor.user).first()
    session = known or _new_session(actor, told)
    imported.count("sessions", is_new=known is None)
    if told.summary and not Summary.objects.filter(session=session).exists():
        Summary.objects.create(session=session, **told.summary.model_dump(exclude={"created_at"}))
        Summary.objects.filter(session=session).update(created_at=told.summary.created_at)
    places = set(session.chunks.values_list("seq", flat=True))
    for chunk in told.chunks:
        imported.count("chunks", is_new=chunk.seq not in places)
        if chunk.seq not in places:
            _import_chunk(session, chunk)
    if known is None and session.ended_at:
        index_session(session)
    return session


def _new_session(actor: Actor, told: ExportedSession) -> Session:
    taken = Session.objects.filter(pk=told.id).exists()
    fields = told.model_dump(exclude={"id", "summary", "chunks"})
    return Session.objects.create(id=_own_id(actor, told.id) if taken else told.id, user=actor.user, **fields)


def _own_id(actor: Actor, session_id: UUID) -> UUID:
    """The id a session gets when its own is taken by someone else: always the same, so that twice is once."""
    return uuid5(actor.user.pk, str(session_id))


def _import_chunk(session: Session, told: ExportedChunk) -> None:
    chunk = Chunk.objects.create(session=session, user=session.user, **told.model_dump(exclude={"created_at"}))
    Chunk.objects.filter(pk=chunk.pk).update(created_at=told.created_at)
    index_chunk(chunk)


def _import_facts(
    actor: Actor, told: Iterable[ExportedFact], sessions: Mapping[UUID, Session], imported: Imported
) -> None:
    told = list(told)
    rows: dict[int, Fact] = {}
    for one in told:
        known = _known_fact(actor, one)
        rows[one.id] = known or _new_fact(actor, one, sessions)
        imported.count("facts", is_new=known is None)
    for one in told:
        successor = rows.get(one.superseded_by) if one.superseded_by else None
        if successor and rows[one.id].superseded_by_id is None and successor.pk != rows[one.id].pk:
            Fact.objects.filter(pk=rows[one.id].pk).update(superseded_by=successor)


def _known_fact(actor: Actor, told: ExportedFact) -> Fact | None:
    same = Fact.objects.of(actor.user).filter(digest=digest(told.fact))
    if told.deprecated_at is None:
        return same.current().first()
    return same.filter(created_at=told.created_at, deprecated_at=told.deprecated_at).first()


def _new_fact(actor: Actor, told: ExportedFact, sessions: Mapping[UUID, Session]) -> Fact:
    fact = Fact.objects.create(
        user=actor.user,
        digest=digest(told.fact),
        source_session=sessions.get(told.source_session) if told.source_session else None,
        **told.model_dump(exclude={"id", "source_session", "superseded_by"}),
    )
    if fact.is_current:
        index_passages(Kind.FACT, fact.pk, [fact.fact], owner=actor.user, project=fact.project)
    return fact


def _import_hypothesis(
    actor: Actor, told: ExportedHypothesis, sessions: Mapping[UUID, Session], imported: Imported
) -> None:
    is_new = not Hypothesis.objects.filter(
        user=actor.user, hypothesis=told.hypothesis, created_at=told.created_at
    ).exists()
    imported.count("hypotheses", is_new=is_new)
    if is_new:
        session = sessions.get(told.session) if told.session else None
        fields = told.model_dump(exclude={"session"})
        if fields["status"] != "open":
            fields["resolved_at"] = fields["resolved_at"] or timezone.now()
        index_hypothesis(Hypothesis.objects.create(user=actor.user, session=session, **fields))


def _import_note(actor: Actor, told: ExportedNote, imported: Imported) -> None:
    note, is_new = Note.objects.get_or_create(
        user=actor.user, domain=told.domain, key=told.key, defaults=told.model_dump(exclude={"domain", "key"})
    )
    imported.count("notes", is_new=is_new)
    if is_new:
        index_note(note)


def _exported_session(session: Session) -> ExportedSession:
    narrative = session.narrative
    return ExportedSession(
        summary=ExportedSummary.model_validate(narrative) if narrative else None,
        chunks=[ExportedChunk.model_validate(chunk) for chunk in session.chunks.all()],
        **{name: getattr(session, name) for name in ExportedSession.model_fields if name not in {"summary", "chunks"}},
    )

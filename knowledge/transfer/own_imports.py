"""Import: reads what `exports` wrote into the memory of a user, idempotently."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Annotated
from uuid import UUID, uuid5

from django.db import transaction
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import Profile
from accounts.people.profiles import get_profile
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.database.rls import rls_bypass
from bigmind.text.hygiene import digest
from knowledge.context.sessions import index_session
from knowledge.conversation.chunks import index_chunk
from knowledge.memory.hypotheses import index_hypothesis
from knowledge.memory.notes import index_note
from knowledge.models import Chunk, Fact, Hypothesis, Note, Session, Summary
from knowledge.parsers.archives import FilesInMemory
from knowledge.truth.fact_index import index_fact

from .carried_columns import FactColumns, HypothesisColumns, NoteColumns, ProfileColumns, SessionColumns
from .exports import (
    LAST_PLACE,
    ExportedChunk,
    ExportedFact,
    ExportedHypothesis,
    ExportedNote,
    ExportedProfile,
    ExportedSession,
    MemoryDocument,
    export_session,
    sessions_of,
    was_own,
)
from .foreign_imports import at_level_brought, bring_in_notes, move_in, report_of
from .import_receipts import MovedIn
from .left_out_columns import FACT, NUMBERED, SESSION
from .parts import MemoryPart, memory_parts
from .readers.formats import AUTO
from .readers.uploads import read_files

Document = Annotated[MemoryDocument, Field(description="What memory_export returned, whole or a part of it.")]
TryOnly = Annotated[bool, Field(description="True: report, change nothing.")]
_LINKS = {"source_session", "superseded_by", "similar_to", "contradicted_by"}


@dataclass(frozen=True)
class Imported:
    """What an import added, and what was known, by kind; of a program's files also what was refused."""

    dry_run: bool
    added: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def import_memory(actor: Actor, *, document: Document, dry_run: TryOnly = False) -> Imported:
    """Import a document from memory_export into the caller's memory.

    Call this to restore or merge: existing items stay as they are, so importing twice changes nothing. In parts:
    sessions first, and a superseded fact together with its successor. A session keeps its id if the same user of the
    same BigMind exported it, or if nobody else has sessions; else it gets a new one. Returns how many of each kind were
    added and how many were known. One wrong item refuses the whole document. Of another program's `files` it lists what
    was refused, and imports the rest.
    """
    if document.files:
        return _import_files(actor, document, dry_run=dry_run)
    return _reply(import_document(actor, document=document, dry_run=dry_run))


def import_document(actor: Actor, *, document: Document, dry_run: TryOnly = False) -> MovedIn:
    """Import a document of memory_export into the memory of the caller, and return the receipt."""
    report = MovedIn(document.format, dry_run)
    with _transaction(dry_run=dry_run):
        # Two imports of one document would each find nothing, and then collide at a unique constraint.
        wait_for_turn(AdvisoryLock.MEMORY_IMPORTS, actor.user.pk)
        _import_profile(actor, document.profile, report)
        for name, part in memory_parts().items():
            part.take(actor, getattr(document, name), report)
    return report


def _import_files(actor: Actor, document: MemoryDocument, *, dry_run: bool) -> Imported:
    """Import the files of another program. Files become notes, and what was company knowledge there is left out."""
    bundle = FilesInMemory(document.program or "files", {path: text.encode() for path, text in document.files.items()})
    upload = read_files(bundle, document.program or AUTO)
    format, reading = upload.format, upload.reading
    assert reading
    report = report_of(reading, format, dry_run=dry_run)
    with _transaction(dry_run=dry_run):
        move_in(actor, reading, format, source=bundle.name, report=report)
        bring_in_notes(actor, reading, format, report)
    return _reply(report)


@contextmanager
def _transaction(*, dry_run: bool) -> Iterator[None]:
    """Import all or nothing. A rehearsal takes the import itself back, so it cannot report anything else."""
    with transaction.atomic():
        yield
        if dry_run:
            transaction.set_rollback(True)


def _reply(report: MovedIn) -> Imported:
    kept = [f"Says otherwise here, and stays: {what}." for what in report.kept]
    return Imported(report.dry_run, report.added, report.unchanged, report.refused, report.notices + kept)


def _import_profile(actor: Actor, told: ExportedProfile | None, report: MovedIn) -> None:
    if told is None:
        return
    profile = get_profile(actor)
    is_new = profile.is_empty
    if is_new:
        for name in ExportedProfile.model_fields.keys() - {"updated_at"}:
            setattr(profile, name, getattr(told, name))
        profile.save()
        # By a statement, here and below: saving a row sets its moments to now.
        if told.updated_at:
            Profile.objects.filter(pk=profile.pk).update(updated_at=told.updated_at)
    else:
        report.keep_different("profile", ProfileColumns.different(profile, told))
    report.count("profile", added=is_new, unchanged=not is_new)


def _sessions_meant(actor: Actor, told: Iterable[UUID | None]) -> dict[UUID | None, Session]:
    """Return the user's sessions by the ids that documents call them, whether they came with this one or earlier."""
    ids = {one: _derive_id(actor, one) for one in told if one}
    own = Session.objects.of(actor.user).in_bulk([*ids.keys(), *ids.values()])
    meant = {one: own.get(one) or own.get(derived) for one, derived in ids.items()}
    return {one: session for one, session in meant.items() if session}


def _import_sessions(actor: Actor, told: Iterable[ExportedSession], report: MovedIn) -> None:
    for session in told:
        _import_session(actor, session, report)


def _import_session(actor: Actor, told: ExportedSession, report: MovedIn) -> None:
    known = _sessions_meant(actor, [told.id]).get(told.id)
    session = known or _new_session(actor, told)
    report.count("sessions", added=known is None, unchanged=known is not None)
    if known:
        report.keep_different(f"session {known.handle}", SessionColumns.different(known, told))
    if told.summary and not Summary.objects.filter(session=session).exists():
        Summary.objects.create(session=session, **told.summary.model_dump(exclude={"created_at"}))
        Summary.objects.filter(session=session).update(created_at=told.summary.created_at)
    _import_chunks(session, told.chunks, report)
    if known is None:
        report.bring("session", session.one_liner or session.handle)
    if known is None and session.ended_at:
        index_session(session, made=True)


def _new_session(actor: Actor, told: ExportedSession) -> Session:
    """Create a session under its id if that was the user's own or can be nobody's here, else under one derived from it.

    What becomes of the id of another must not depend on whether it exists here: that would tell.
    """
    with rls_bypass():
        is_anothers = Session.objects.exclude(user=actor.user).exists()
    keeps_id = not is_anothers or (was_own(actor.user, told) and not Session.objects.filter(pk=told.id).exists())
    fields = told.model_dump(exclude={"id", "proof", "summary", "chunks"})
    return Session.objects.create(id=told.id if keeps_id else _derive_id(actor, told.id), user=actor.user, **fields)


def _derive_id(actor: Actor, session_id: UUID) -> UUID:
    """The id that a session gets in place of its own: always the same, so that importing twice adds nothing."""
    return uuid5(actor.user.pk, str(session_id))


def _import_chunks(session: Session, told: Iterable[ExportedChunk], report: MovedIn) -> None:
    Session.objects.select_for_update().get(pk=session.pk)  # An agent who appends to it meanwhile waits.
    chunks = list(session.chunks.all())
    there = {(chunk.role, chunk.content, chunk.created_at) for chunk in chunks}
    places = {chunk.seq for chunk in chunks}
    for one in told:
        same = (one.role, one.content, one.created_at)
        report.count("chunks", added=same not in there, unchanged=same in there)
        if same not in there:
            seq = _free_place(one.seq, places)
            _import_chunk(session, one, seq)
            there.add(same)
            places.add(seq)


def _free_place(wanted: int, taken: set[int]) -> int:
    """The place wanted, else the one after the last; should that be beyond what can be stored, the first gap."""
    if wanted not in taken:
        return wanted
    return next(place for place in chain(range(max(taken) + 1, LAST_PLACE + 1), count(1)) if place not in taken)


def _import_chunk(session: Session, told: ExportedChunk, seq: int) -> None:
    fields = told.model_dump(exclude={"seq", "created_at"})
    chunk = Chunk.objects.create(session=session, user=session.user, seq=seq, **fields)
    Chunk.objects.filter(pk=chunk.pk).update(created_at=told.created_at)
    index_chunk(chunk, made=True)


def _import_facts(actor: Actor, told: Sequence[ExportedFact], report: MovedIn) -> None:
    sessions = _sessions_meant(actor, {fact.source_session for fact in told})
    told = [at_level_brought(actor, one) for one in told]
    rows: dict[int | None, Fact] = {}
    for one in told:
        rows[one.id], is_new = _import_fact(actor, one, sessions)
        report.count("facts", added=is_new, unchanged=not is_new)
        if is_new:
            report.bring("fact", one.fact)
        else:
            report.keep_different(f"fact F{rows[one.id].number}", FactColumns.different(rows[one.id], one))
    # Facts refer to each other, so all have to be there first.
    for one in told:
        fact = rows[one.id]
        for name in ("superseded_by", "similar_to", "contradicted_by"):
            other = rows.get(getattr(one, name))
            if other and getattr(fact, f"{name}_id") is None and other.pk != fact.pk:
                Fact.objects.filter(pk=fact.pk).update(**{name: other})
                # What was replaced stays in the index (decision 39); that it was is known only now.
                if name == "superseded_by" and not fact.is_current:
                    index_fact(fact, made=True)


def _import_fact(actor: Actor, told: ExportedFact, sessions: Mapping[UUID | None, Session]) -> tuple[Fact, bool]:
    """Return the fact and whether it is new. A text is current once; set aside it may be there several times."""
    same = {"created_at": told.created_at} if told.deprecated_at else {}
    fact, is_new = Fact.objects.get_or_create(
        user=actor.user,
        digest=digest(told.fact),
        deprecated_at=told.deprecated_at,
        **same,
        defaults={
            **told.model_dump(exclude={"id", *_LINKS, "deprecated_at", "updated_at"}),
            "source_session": sessions.get(told.source_session),
        },
    )
    if is_new and told.updated_at:
        Fact.objects.filter(pk=fact.pk).update(updated_at=told.updated_at)
    if is_new and fact.is_current:
        index_fact(fact, made=True)
    return fact, is_new


def _import_hypotheses(actor: Actor, told: Sequence[ExportedHypothesis], report: MovedIn) -> None:
    sessions = _sessions_meant(actor, {belief.session for belief in told})
    for one in told:
        same = Hypothesis.objects.filter(user=actor.user, hypothesis=one.hypothesis, created_at=one.created_at)
        known = same.first()
        report.count("hypotheses", added=known is None, unchanged=known is not None)
        if known:
            report.keep_different(f"hypothesis H{known.number}", HypothesisColumns.different(known, one))
        else:
            fields = one.model_dump(exclude={"session"})
            if one.status != "open":
                fields["resolved_at"] = one.resolved_at or timezone.now()
            belief = Hypothesis.objects.create(user=actor.user, session=sessions.get(one.session), **fields)
            index_hypothesis(belief, made=True)
            report.bring("hypothesis", one.hypothesis)


def _import_notes(actor: Actor, told: Iterable[ExportedNote], report: MovedIn) -> None:
    for one in told:
        note, is_new = Note.objects.get_or_create(
            user=actor.user, domain=one.domain, key=one.key, defaults=one.model_dump(exclude={"domain", "key"})
        )
        report.count("notes", added=is_new, unchanged=not is_new)
        if is_new:
            index_note(note, made=True)
            report.bring("note", str(note))
        else:
            report.keep_different(f"note {note}", NoteColumns.different(note, one))


SESSIONS = MemoryPart(
    Session,
    ExportedSession,
    sessions_of,
    _import_sessions,
    SESSION,
    export_session,
)
FACTS = MemoryPart(
    Fact,
    ExportedFact,
    lambda user: Fact.objects.of(user).order_by("created_at", "id"),
    _import_facts,
    FACT,
)
HYPOTHESES = MemoryPart(
    Hypothesis,
    ExportedHypothesis,
    lambda user: Hypothesis.objects.of(user).order_by("created_at", "id"),
    _import_hypotheses,
    NUMBERED,
)
NOTES = MemoryPart(
    Note,
    ExportedNote,
    lambda user: Note.objects.of(user).order_by("domain", "key"),
    _import_notes,
    NUMBERED,
)

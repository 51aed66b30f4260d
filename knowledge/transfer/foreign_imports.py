"""Imports from other programs: stores what an importer read, idempotently, so that one step can undo it.

Existing items stay as they are, set aside or not. New ones are attributed to an agent named after the program and the
file, so that memory_forget_source can undo the import.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid5

from django.db import transaction
from django.utils import timezone

from accounts.actor import Actor, acts
from accounts.models import Agent
from accounts.people.profiles import get_profile
from bigmind.core.errors import Invalid
from bigmind.core.private_row_numbers import number_of
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.text.hygiene import digest, one_line, show_hidden
from knowledge.context.sessions import index_session
from knowledge.conversation.chunks import head_of, text_of
from knowledge.memory.hypotheses import index_hypothesis
from knowledge.memory.notes import index_note
from knowledge.memory.trigger_levels import level_brought
from knowledge.models import Chunk, Fact, Hypothesis, Kind, Note, Session, Summary
from knowledge.parsers.repositories import SourcePlace, place_of
from knowledge.search.passages import Indexed, index_new
from knowledge.transfer.carried_columns import (
    ChunkColumns,
    FactColumns,
    HypothesisColumns,
    NoteColumns,
    ProfileColumns,
    SessionColumns,
    SummaryColumns,
)
from knowledge.transfer.readers.formats import ImportFormat
from knowledge.transfer.readers.items import OWN
from knowledge.transfer.readers.memory_drafts import (
    ChunkDraft,
    CompanyDraft,
    FactDraft,
    HypothesisDraft,
    MemoryDraft,
    NoteDraft,
    PageDraft,
    PageSource,
    ProfileDraft,
    Reading,
    SessionDraft,
)
from knowledge.transfer.readers.provenance import fingerprint, signer_notice

from .import_receipts import MovedIn
from .vaults import NoteImport

D = TypeVar("D", bound=MemoryDraft)
F = TypeVar("F", bound=FactColumns)
BATCH = 500


def report_of(reading: Reading, format: ImportFormat, *, dry_run: bool) -> MovedIn:
    """Return the report that an import of what was read begins with."""
    notices = [*reading.notices, *signer_notice(reading)]
    report = MovedIn(format.name, dry_run, refused=list(reading.refused), notices=notices)
    if reading.more_refused:
        report.refused.append(f"and {reading.more_refused:,} more.")
    return report


@transaction.atomic
def move_in(actor: Actor, reading: Reading, format: ImportFormat, *, source: str, report: MovedIn) -> Actor:
    """Store what was read, as the memory of the caller, and count it in the report.

    Returns the actor whose writing it is: the caller, through the agent of this import.
    """
    # Two imports of one file would each find nothing, and then collide at a unique constraint.
    wait_for_turn(AdvisoryLock.MEMORY_IMPORTS, actor.user.pk)
    importer = importer_of(actor, format.title, source)
    report.agent = number_of(importer.agent.pk) if importer.agent else None
    with acts(importer):
        importing = _ForeignImport(importer, format, source, reading.signed, report)
        importing.profiles(_of(reading, ProfileDraft))
        # Before facts and beliefs, which name the sessions that they come from.
        importing.sessions(_of(reading, SessionDraft))
        importing.facts(at_level_brought(actor, draft) for draft in _of(reading, FactDraft))
        importing.hypotheses(_of(reading, HypothesisDraft))
        importing.notes(_of(reading, NoteDraft))
    return importer


def at_level_brought(actor: Actor, told: F) -> F:
    """Return a fact that is imported with the level that its triggers may have here."""
    level = level_brought(actor, told.trigger_level)
    return told if level == told.trigger_level else told.model_copy(update={"trigger_level": level})


def bring_in_notes(
    actor: Actor,
    reading: Reading,
    format: ImportFormat,
    report: MovedIn,
    *,
    folder: Path | None = None,
    removes: bool = False,
    replaces: bool = False,
) -> None:
    """Store the files that were read as notes of the caller, which follow their source from then on.

    Args:
        folder: Where the bundle lies on this machine. A source whose name others may have is known by it. Decision 80.
        removes: Whether to set aside here what the source no longer has.
        replaces: Whether to change or remove even most of what the source brought; else that is refused.
    """
    origin = reading.origin
    if origin is None:
        if removes or replaces:
            raise Invalid.of("format", f"{format.name} has no files that notes follow: nothing is removed or replaced")
        return
    place = place_of_files(origin, folder)
    source = place.read_by(format.name, origin.name) if place else f"{format.name}:{origin.name}"
    importing = NoteImport(actor.user, source, origin, report)
    importing.bring_in(list(_of(reading, PageDraft)), removes=removes, replaces=replaces)


def place_of_files(origin: PageSource | None, folder: Path | None) -> SourcePlace | None:
    """Return where the files of a folder lie; None if their source has a name of its own, or is no folder."""
    return place_of(folder / origin.folder) if folder and origin and origin.is_bare else None


def company_drafts(reading: Reading) -> list[tuple[str, CompanyDraft]]:
    """Return what everybody should know, with its places: `curation` proposes it."""
    return [(placed.place, placed.draft) for placed in reading.drafts if isinstance(placed.draft, CompanyDraft)]


def importer_of(actor: Actor, program: str, source: str) -> Actor:
    """Return the person as the agent of an import, which memory_forget_source can take back."""
    name, file = f"Import from {program}", one_line(show_hidden(source))[:200]
    agent, _ = Agent.objects.update_or_create(
        user=actor.user, client_name=name, host=file, defaults={"last_seen": timezone.now()}
    )
    return Actor.of(actor.user, key=actor.key, agent=agent)


class _ForeignImport:
    """One import under way."""

    def __init__(
        self,
        actor: Actor,
        format: ImportFormat,
        source: str,
        signed: Mapping[str, Mapping[str, Any]],
        report: MovedIn,
    ) -> None:
        self.actor, self.user, self.report = actor, actor.user, report
        self._format, self._signed = format.name, signed
        self._source = f"{format.name}:{source}"[:300]
        self._own: dict[str, Session | None] = {}

    def profiles(self, drafts: Iterable[ProfileDraft]) -> None:
        """Fill an empty profile; one that says something stays."""
        for draft in drafts:
            profile = get_profile(self.actor)
            is_new = profile.is_empty
            if is_new:
                for name, value in ProfileColumns.values(draft).items():
                    setattr(profile, name, value)
                is_new = not profile.is_empty
                profile.save()
            else:
                self.report.keep_different("profile", ProfileColumns.different(profile, draft))
            self.report.count("profile", added=is_new, unchanged=not is_new)

    def sessions(self, drafts: Iterable[SessionDraft]) -> None:
        """Add sessions that are new, and to those that are known the messages that they lack."""
        for batch in _batches(drafts):
            # Locked, and in one order: an agent who appends to one of them meanwhile waits.
            mine = Session.objects.of(self.user).select_for_update(of=("self",)).order_by("pk")
            ids = [self._id(draft.source_id) for draft in batch]
            there = mine.select_related("summary").in_bulk(ids)
            for id, draft in zip(ids, batch, strict=True):
                known = there.get(id)
                session = known or self._new_session(id, draft)
                # A conversation of another program goes on, and then has another end and another outcome each time.
                if known and draft.source_id.startswith(OWN):
                    self.report.keep_different(f"session {session.handle}", _different_session(session, draft))
                there[session.pk] = session
                if known is None:
                    self.report.bring("session", draft.one_liner or draft.source_id)
                self.report.count("sessions", added=known is None, unchanged=known is not None)
                self._chunks(session, draft.chunks)

    def facts(self, drafts: Iterable[FactDraft]) -> None:
        """Add facts whose text is not there, whether it still holds or was set aside."""
        for batch in _batches(drafts):
            told = [(digest(draft.fact), draft) for draft in batch]
            mine = Fact.objects.of(self.user).filter(digest__in={text for text, _ in told})
            # Of several with one text the current one comes last, and stays.
            rows = {fact.digest: fact for fact in mine.order_by("deprecated_at")}
            # Backwards, so that the first of equal texts stays; `fresh` has them in their order again.
            first = {text: draft for text, draft in reversed(told) if text not in rows}
            fresh = [*reversed(first.items())]
            self._look_up(draft.session for _, draft in fresh)
            facts = Fact.objects.bulk_create(self._fact(text, draft) for text, draft in fresh)
            # Inserting sets `updated_at` to now, which would make all of them the newest.
            for fact, (_, draft) in zip(facts, fresh, strict=True):
                self.report.bring("fact", draft.fact)
                fact.updated_at = draft.updated_at or fact.updated_at
            Fact.objects.bulk_update(facts, ["updated_at"])
            index_new(Kind.FACT, [_passage_of_fact(fact) for fact in facts if fact.is_current], owner=self.user)
            self.report.count("facts", added=len(facts), unchanged=len(batch) - len(facts))
            rows |= {fact.digest: fact for fact in facts}
            for text, draft in told:
                self.report.keep_different(f"fact F{rows[text].number}", FactColumns.different(rows[text], draft))

    def hypotheses(self, drafts: Iterable[HypothesisDraft]) -> None:
        """Add beliefs whose words are not there."""
        for draft in drafts:
            known = Hypothesis.objects.filter(user=self.user, hypothesis=draft.hypothesis).order_by("id").last()
            self.report.count("hypotheses", added=known is None, unchanged=known is not None)
            if known:
                self.report.keep_different(f"hypothesis H{known.number}", HypothesisColumns.different(known, draft))
                continue
            self.report.bring("hypothesis", draft.hypothesis)
            self._look_up([draft.session])
            belief = Hypothesis.objects.create(
                user=self.user,
                session=self._own.get(draft.session),
                created_at=draft.created_at or timezone.now(),
                resolved_at=None if draft.status == "open" else draft.resolved_at or timezone.now(),
                **HypothesisColumns.values(draft),
            )
            index_hypothesis(belief, made=True)

    def notes(self, drafts: Iterable[NoteDraft]) -> None:
        """Add notes whose address is free."""
        for draft in drafts:
            made = draft.created_at or draft.updated_at or timezone.now()
            moments = {"created_at": made, "updated_at": draft.updated_at or made}
            note, is_new = Note.objects.get_or_create(
                user=self.user, domain=draft.domain, key=draft.key, defaults=NoteColumns.values(draft) | moments
            )
            self.report.count("notes", added=is_new, unchanged=not is_new)
            if is_new:
                self.report.bring("note", f"{note}: {draft.content}")
                index_note(note, made=True)
            else:
                self.report.keep_different(f"note {note}", NoteColumns.different(note, draft))

    def _id(self, source_id: str) -> UUID:
        """The id that a conversation gets here: stable for this person, so that importing twice adds nothing."""
        if not source_id.startswith(OWN):
            return uuid5(self.user.pk, f"{self._format} {source_id}")
        # One of BigMind's own: it may still be here under its id, or have come with memory_import.
        own = source_id.removeprefix(OWN)
        with suppress(ValueError):
            if Session.objects.of(self.user).filter(pk=UUID(own)).exists():
                return UUID(own)
        return uuid5(self.user.pk, own)

    def _new_session(self, id: UUID, draft: SessionDraft) -> Session:
        ended_at = max(draft.started_at, draft.ended_at or draft.started_at)
        session = Session.objects.create(
            id=id,
            user=self.user,
            agent=self.actor.agent,
            **SessionColumns.values(draft) | {"ended_at": ended_at},
        )
        if any((narrative := SummaryColumns.values(draft)).values()):
            Summary.objects.create(session=session, **narrative)
            Summary.objects.filter(session=session).update(created_at=session.ended_at)
        index_session(session, made=True)
        return session

    def _chunks(self, session: Session, drafts: Sequence[ChunkDraft]) -> None:
        there = {(chunk.role, chunk.content): chunk.seq for chunk in session.chunks.all()}
        last = max(there.values(), default=0)
        fresh = [draft for draft in drafts if (draft.role, draft.content) not in there]
        chunks = Chunk.objects.bulk_create(
            Chunk(session=session, user=self.user, seq=seq, **ChunkColumns.values(draft))
            for seq, draft in enumerate(fresh, start=last + 1)
        )
        for chunk, draft in zip(chunks, fresh, strict=True):
            chunk.created_at = draft.created_at or session.started_at
        Chunk.objects.bulk_update(chunks, ["created_at"])
        index_new(Kind.CHUNK, [_passage_of_chunk(chunk, session) for chunk in chunks], owner=self.user)
        self.report.count("chunks", added=len(chunks), unchanged=len(drafts) - len(chunks))

    def _fact(self, text: str, draft: FactDraft) -> Fact:
        session = self._own.get(draft.session)
        return Fact(
            user=self.user,
            digest=text,
            source_session=session,
            created_at=_not_ahead(draft.created_at),
            provenance=self._provenance(draft),
            **FactColumns.values(draft) | {"project": draft.project or (session.project if session else "")},
        )

    def _provenance(self, draft: FactDraft) -> dict[str, Any]:
        """Where a fact comes from, where that says more than the agent of this import does."""
        # By the text, to the byte: what someone changed since it was signed is signed by nobody.
        told = {"row": draft.row, "file": draft.file, "signed": self._signed.get(fingerprint(draft.fact), {})}
        said = {name: value for name, value in told.items() if value}
        return {"source": self._source, **said} if said else {}

    def _look_up(self, source_ids: Iterable[str]) -> None:
        """Find the sessions that facts and beliefs name, whether they came with this import or with an earlier one."""
        wanted = {one: self._id(one) for one in source_ids if one and one not in self._own}
        found = Session.objects.of(self.user).in_bulk(list(wanted.values()))
        self._own |= {one: found.get(id) for one, id in wanted.items()}


def _different_session(session: Session, draft: SessionDraft) -> list[str]:
    different = SessionColumns.different(session, draft)
    different += SummaryColumns.different(session.narrative or Summary(), draft)
    # One without a headline is given one on the way out.
    return [name for name in different if name != "one_liner" or session.one_liner]


def _passage_of_fact(fact: Fact) -> Indexed:
    return Indexed(fact.pk, fact.fact, fact.project, moment=fact.created_at)


def _passage_of_chunk(chunk: Chunk, session: Session) -> Indexed:
    return Indexed(chunk.pk, text_of(chunk), session.project, head_of(chunk), chunk.created_at)


def _not_ahead(told: datetime | None) -> datetime:
    """A moment no later than now: one in the future would stay the newest for ever."""
    now = timezone.now()
    return min(told, now) if told else now


def _of(reading: Reading, kind: type[D]) -> Iterator[D]:
    return (placed.draft for placed in reading.drafts if isinstance(placed.draft, kind))


def _batches(drafts: Iterable[D]) -> Iterator[list[D]]:
    remaining = iter(drafts)
    while batch := list(islice(remaining, BATCH)):
        yield batch

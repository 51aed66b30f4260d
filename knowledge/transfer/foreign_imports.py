"""Moving in: stores what an importer read from another program, so that twice is once and one step takes it back.

What is there already stays as it is, set aside or not. What is added counts as written by an agent that is called after
the program and the file, so that memory_forget_source can take that import back.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TypeVar
from uuid import UUID, uuid5

from django.db import transaction
from django.utils import timezone

from accounts.actor import Actor, acts
from accounts.models import Agent
from accounts.people.profiles import get_profile
from bigmind.core.advisory_locks import wait_for_turn
from bigmind.core.numbers import number_of
from bigmind.core.text import digest, one_line, show_hidden
from knowledge.models import Chunk, Fact, Hypothesis, Kind, Note, Session, Summary
from knowledge.search.passages import Indexed, index_new
from knowledge.services.hypotheses import index_hypothesis
from knowledge.services.notes import index_note
from knowledge.services.sessions import head_of, index_session, text_of
from knowledge.transfer.readers import ImportFormat
from knowledge.transfer.readers.drafts import (
    ChunkDraft,
    CompanyDraft,
    FactDraft,
    HypothesisDraft,
    MemoryDraft,
    NoteDraft,
    ProfileDraft,
    Reading,
    SessionDraft,
)

from .imports import LOCK

D = TypeVar("D", bound=MemoryDraft)
BATCH = 500
KEPT_NAMED = 100


@dataclass
class MovedIn:
    """What an import added, what was there already, and what was refused, each with its place in the source."""

    format: str
    dry_run: bool
    agent: int | None = None
    """Whose number memory_forget_source takes to take the import back."""
    added: dict[str, int] = field(default_factory=dict)
    unchanged: dict[str, int] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    """What is there, but says otherwise: it stayed as it is, and someone may want to look."""
    refused: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def count(self, kind: str, *, added: int = 0, unchanged: int = 0) -> None:
        """Count items of one kind."""
        self.added[kind] = self.added.get(kind, 0) + added
        self.unchanged[kind] = self.unchanged.get(kind, 0) + unchanged

    def keep(self, what: str) -> None:
        """Name something that is there and says otherwise."""
        if len(self.kept) < KEPT_NAMED:
            self.kept.append(what)


def report_of(reading: Reading, format: ImportFormat, *, dry_run: bool) -> MovedIn:
    """Return the report that an import of what was read begins with."""
    report = MovedIn(format.name, dry_run, refused=list(reading.refused), notices=list(reading.notices))
    if reading.more_refused:
        report.refused.append(f"and {reading.more_refused:,} more.")
    return report


@transaction.atomic
def move_in(actor: Actor, reading: Reading, format: ImportFormat, *, source: str, report: MovedIn) -> Actor:
    """Store what was read, as the memory of the caller, and count it in the report.

    Returns the actor whose writing it is: the caller, through the agent of this import.
    """
    # Two imports of one file would each find nothing known, and then meet at what must be unique.
    wait_for_turn(LOCK, actor.user.pk)
    importer = Actor.of(actor.user, key=actor.key, agent=_agent(actor, format, source))
    report.agent = number_of(importer.agent.pk) if importer.agent else None
    with acts(importer):
        importing = _ForeignImport(importer, format, report)
        importing.profiles(_of(reading, ProfileDraft))
        importing.sessions(_of(reading, SessionDraft))
        importing.facts(_of(reading, FactDraft))
        importing.hypotheses(_of(reading, HypothesisDraft))
        importing.notes(_of(reading, NoteDraft))
    return importer


def company_drafts(reading: Reading) -> list[tuple[str, CompanyDraft]]:
    """Return what everybody should know, with its places: `curation` proposes it."""
    return [(placed.place, placed.draft) for placed in reading.drafts if isinstance(placed.draft, CompanyDraft)]


def _agent(actor: Actor, format: ImportFormat, source: str) -> Agent:
    name, file = f"Import from {format.title}", one_line(show_hidden(source))[:200]
    agent, _ = Agent.objects.update_or_create(
        user=actor.user, client_name=name, host=file, defaults={"last_seen": timezone.now()}
    )
    return agent


class _ForeignImport:
    """One import under way."""

    def __init__(self, actor: Actor, format: ImportFormat, report: MovedIn) -> None:
        self.actor, self.user, self.report = actor, actor.user, report
        self._format = format.name
        self._own: dict[str, Session | None] = {}

    def profiles(self, drafts: Iterable[ProfileDraft]) -> None:
        """Fill an empty profile; one that says something stays."""
        for draft in drafts:
            profile = get_profile(self.actor)
            is_new = profile.is_empty
            if is_new:
                profile.role, profile.preferences = draft.role, draft.preferences
                profile.pinned_facts = list(draft.pinned_facts)
                is_new = not profile.is_empty
                profile.save()
            elif (draft.role, draft.preferences) != (profile.role, profile.preferences):
                self.report.keep("profile")
            self.report.count("profile", added=is_new, unchanged=not is_new)

    def sessions(self, drafts: Iterable[SessionDraft]) -> None:
        """Add sessions that are new, and to those that are known the messages that they lack."""
        for batch in _batches(drafts):
            there = Session.objects.of(self.user).in_bulk([self._id(draft.source_id) for draft in batch])
            for draft in batch:
                known = there.get(self._id(draft.source_id))
                session = known or self._new_session(draft)
                there[session.pk] = session
                self.report.count("sessions", added=known is None, unchanged=known is not None)
                self._chunks(session, draft.chunks)

    def facts(self, drafts: Iterable[FactDraft]) -> None:
        """Add facts whose text is not there, whether it still holds or was set aside."""
        for batch in _batches(drafts):
            fresh = {digest(draft.fact): draft for draft in reversed(batch)}
            mine = Fact.objects.of(self.user).filter(digest__in=fresh)
            for known in mine.values_list("digest", flat=True):
                fresh.pop(known, None)
            self._look_up(draft.session for draft in fresh.values())
            facts = Fact.objects.bulk_create(self._fact(text, draft) for text, draft in reversed(fresh.items()))
            self._index(Kind.FACT, [fact for fact in facts if fact.is_current], "fact")
            self.report.count("facts", added=len(facts), unchanged=len(batch) - len(facts))

    def hypotheses(self, drafts: Iterable[HypothesisDraft]) -> None:
        """Add beliefs whose words are not there."""
        for draft in drafts:
            is_new = not Hypothesis.objects.filter(user=self.user, hypothesis=draft.hypothesis).exists()
            self.report.count("hypotheses", added=is_new, unchanged=not is_new)
            if is_new:
                self._look_up([draft.session])
                told = draft.model_dump(exclude={"session", "created_at", "resolved_at"})
                made = draft.created_at or timezone.now()
                ended = None if draft.status == "open" else draft.resolved_at or timezone.now()
                belief = Hypothesis.objects.create(
                    user=self.user, session=self._own.get(draft.session), created_at=made, resolved_at=ended, **told
                )
                index_hypothesis(belief, made=True)

    def notes(self, drafts: Iterable[NoteDraft]) -> None:
        """Add notes whose address is free."""
        for draft in drafts:
            made = draft.created_at or draft.updated_at or timezone.now()
            fields = {"content": draft.content, "project": draft.project}
            note, is_new = Note.objects.get_or_create(
                user=self.user,
                domain=draft.domain,
                key=draft.key,
                defaults={**fields, "created_at": made, "updated_at": draft.updated_at or made},
            )
            self.report.count("notes", added=is_new, unchanged=not is_new)
            if is_new:
                index_note(note, made=True)
            elif note.content != draft.content:
                self.report.keep(f"note {note}")

    def _id(self, source_id: str) -> UUID:
        """The id that a conversation gets here: always the same for this person, so that twice is once."""
        return uuid5(self.user.pk, f"{self._format} {source_id}")

    def _new_session(self, draft: SessionDraft) -> Session:
        told = {"one_liner", "project", "started_at", "topics", "outcome", "importance"}
        session = Session.objects.create(
            id=self._id(draft.source_id),
            user=self.user,
            agent=self.actor.agent,
            ended_at=max(draft.started_at, draft.ended_at or draft.started_at),
            **draft.model_dump(include=told),
        )
        if draft.summary or draft.key_facts or draft.code_refs:
            told = {"summary", "key_facts", "code_refs"}
            Summary.objects.create(session=session, **draft.model_dump(include=told))
            Summary.objects.filter(session=session).update(created_at=session.ended_at)
        index_session(session, made=True)
        return session

    def _chunks(self, session: Session, drafts: Sequence[ChunkDraft]) -> None:
        there = {(chunk.role, chunk.content): chunk.seq for chunk in session.chunks.all()}
        last = max(there.values(), default=0)
        fresh = [draft for draft in drafts if (draft.role, draft.content) not in there]
        chunks = Chunk.objects.bulk_create(
            Chunk(session=session, user=self.user, seq=seq, **draft.model_dump(exclude={"created_at"}))
            for seq, draft in enumerate(fresh, start=last + 1)
        )
        for chunk, draft in zip(chunks, fresh, strict=True):
            chunk.created_at = draft.created_at or session.started_at
        Chunk.objects.bulk_update(chunks, ["created_at"])
        index_new(Kind.CHUNK, [_passage_of(chunk, session) for chunk in chunks], owner=self.user)
        self.report.count("chunks", added=len(chunks), unchanged=len(drafts) - len(chunks))

    def _fact(self, text: str, draft: FactDraft) -> Fact:
        told = {"fact", "category", "confidence", "deprecated_at", "deprecation_reason"}
        session = self._own.get(draft.session)
        return Fact(
            user=self.user,
            digest=text,
            source_session=session,
            project=draft.project or (session.project if session else ""),
            created_at=_not_ahead(draft.created_at),
            **draft.model_dump(include=told),
        )

    def _look_up(self, source_ids: Iterable[str]) -> None:
        """Find the sessions that facts and beliefs name, whether they came with this import or with an earlier one."""
        wanted = {one: self._id(one) for one in source_ids if one and one not in self._own}
        found = Session.objects.of(self.user).in_bulk(list(wanted.values()))
        self._own |= {one: found.get(id) for one, id in wanted.items()}

    def _index(self, kind: Kind, rows: Sequence[Fact], text: str) -> None:
        index_new(
            kind,
            [Indexed(row.pk, getattr(row, text), row.project, moment=row.created_at) for row in rows],
            owner=self.user,
        )


def _passage_of(chunk: Chunk, session: Session) -> Indexed:
    return Indexed(chunk.pk, text_of(chunk), session.project, head_of(chunk), chunk.created_at)


def _not_ahead(told: datetime | None) -> datetime:
    """A moment of the past: what claims to come from the future would stay the newest for ever."""
    now = timezone.now()
    return min(told, now) if told else now


def _of(reading: Reading, kind: type[D]) -> Iterator[D]:
    return (placed.draft for placed in reading.drafts if isinstance(placed.draft, kind))


def _batches(drafts: Iterable[D]) -> Iterator[list[D]]:
    remaining = iter(drafts)
    while batch := list(islice(remaining, BATCH)):
        yield batch

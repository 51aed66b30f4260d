"""Forgetting a source: everything that a key, an agent or a session wrote goes, in one step."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import Agent, ApiKey, User
from accounts.services.calls import forget_kept_replies
from bigmind.core.errors import Invalid, NotFound
from bigmind.core.vocabulary import RowId, Since
from bigmind.core.wall import sees_only
from curation.models import Action
from knowledge.models import (
    CachedVector,
    Chunk,
    CompanyEntry,
    Entry,
    Fact,
    Hypothesis,
    Kind,
    Note,
    Passage,
    Session,
    Status,
    Writing,
)
from knowledge.search.passages import forget_passages
from knowledge.services.sessions import own_session
from knowledge.vocabulary import SomeSessionId

from .decisions import wait_for_pairs
from .history import WAITING, entry_to_change, record

KeyOfSource = Annotated[UUID, Field(description="The id of the key that wrote it, as the page “Keys” shows it.")]
AgentOfSource = Annotated[RowId, Field(description="The number of the agent that wrote it.")]
DryRun = Annotated[bool, Field(description="True: only count. False: really forget.")]
LOOKED_AT = 50
REOPENED = "What wrote this is not trusted any more: it waits for a curator again."


@dataclass
class Forgotten:
    """What was forgotten, or would be: how many of each kind. What is to `look_at` was only changed, or proposed."""

    dry_run: bool
    facts: int = 0
    chunks: int = 0
    sessions: int = 0
    hypotheses: int = 0
    notes: int = 0
    entries: int = 0
    proposals: int = 0
    look_at: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Source:
    """Whose writings are meant, and which."""

    user: User
    writings: "QuerySet[Writing]"
    session: Session | None

    def ids(self, kind: Kind) -> list[str]:
        """The ids of what of this kind the source has made."""
        return list(self.writings.filter(kind=kind, made=True).values_list("source_id", flat=True).distinct())

    def touched(self, kind: Kind) -> list[str]:
        """The ids of what of this kind the source has made, changed or decided about."""
        return list(self.writings.filter(kind=kind).values_list("source_id", flat=True).distinct())

    @property
    def sessions(self) -> QuerySet[Session]:
        """The sessions it closed, and the one that is meant itself: their headlines and summaries are its words."""
        meant = Q(pk__in=self.ids(Kind.SUMMARY))
        return Session.objects.of(self.user).filter(meant | Q(pk=self.session.pk) if self.session else meant)

    def numbers(self, kind: Kind) -> list[int]:
        """The same as numbers."""
        return [int(id) for id in self.ids(kind)]


@transaction.atomic
def forget_source(
    actor: Actor,
    *,
    key: KeyOfSource | None = None,
    agent: AgentOfSource | None = None,
    session_id: SomeSessionId | None = None,
    since: Since | None = None,
    dry_run: DryRun = True,
) -> Forgotten:
    """Forget everything that a key, an agent or a session wrote, from a moment on or ever.

    Call this first as it is, which only counts; then with `dry_run` false, if the user agrees. What it proposed as
    company knowledge is told to nobody until a curator decides again. Returns the counts; it cannot be undone.
    """
    if key is None and agent is None and session_id is None:
        raise Invalid("key, agent or session_id is required: what wrote what is to be forgotten.")
    source = _source(actor, key, agent, session_id, since)
    report = Forgotten(dry_run)
    with sees_only(source.user.pk):
        for erase in (_facts, _chunks, _hypotheses, _notes, _sessions, _entries, _changed):
            erase(source, report)
        _proposals(actor, source, report)
        if not dry_run:
            forget_kept_replies(source.user)
    return report


def _source(actor: Actor, key: UUID | None, agent: int | None, session_id: str | None, since: Any) -> _Source:
    user, session = actor.user, None
    writings = Writing.objects.all()
    if key is not None:
        user = _key_of(actor, key).user or user
        writings = writings.filter(key_id=key)
    if agent is not None:
        if not Agent.objects.filter(pk=agent, user=user).exists():
            raise NotFound(f"You have no agent {agent}.", hint="Your profile page shows yours.")
        writings = writings.filter(agent_id=agent)
    if session_id is not None:
        session = own_session(actor, session_id)
        until = session.ended_at or timezone.now()
        writings = writings.filter(agent=session.agent, at__gte=session.started_at, at__lte=until)
    if since is not None:
        writings = writings.filter(at__gte=since)
    return _Source(user, writings.filter(user=user), session)


def _key_of(actor: Actor, key: UUID) -> ApiKey:
    """A key of one's own, or for admins any: what they forget they do not read."""
    keys = ApiKey.objects.all() if "admin" in actor.scopes else ApiKey.objects.filter(user=actor.user)
    found = keys.select_related("user").filter(pk=key).first()
    if found is None or found.user is None:
        raise NotFound(f"You have no key {key}.", hint="The page “Keys” shows yours.")
    return found


def _facts(source: _Source, report: Forgotten) -> None:
    rows = Fact.objects.of(source.user).filter(_written(Q(pk__in=source.numbers(Kind.FACT)), source, "source_session"))
    report.facts = _erase(rows, Kind.FACT, report)


def _chunks(source: _Source, report: Forgotten) -> None:
    """The exchanges it flagged, and whatever stands in the sessions that go."""
    meant = Q(pk__in=source.numbers(Kind.CHUNK)) | Q(session__in=source.sessions)
    report.chunks = _erase(Chunk.objects.filter(meant, user=source.user), Kind.CHUNK, report)


def _hypotheses(source: _Source, report: Forgotten) -> None:
    mine = Hypothesis.objects.filter(user=source.user)
    rows = mine.filter(_written(Q(pk__in=source.numbers(Kind.HYPOTHESIS)), source, "session"))
    report.hypotheses = _erase(rows, Kind.HYPOTHESIS, report)


def _notes(source: _Source, report: Forgotten) -> None:
    report.notes = _erase(Note.objects.of(source.user).filter(pk__in=source.numbers(Kind.NOTE)), Kind.NOTE, report)


def _sessions(source: _Source, report: Forgotten) -> None:
    report.sessions = _erase(source.sessions, Kind.SUMMARY, report)


def _entries(source: _Source, report: Forgotten) -> None:
    """The shared entries it added."""
    rows = Entry.objects.filter(pk__in=source.ids(Kind.ENTRY), created_by=source.user)
    report.entries = _erase(rows, Kind.ENTRY, report)


def _changed(source: _Source, report: Forgotten) -> None:
    """Name what was there before, and what it only changed: that is left to people."""
    for kind in (Kind.FACT, Kind.CHUNK, Kind.SUMMARY, Kind.HYPOTHESIS, Kind.NOTE, Kind.ENTRY):
        others = sorted(set(source.touched(kind)) - set(source.ids(kind)))
        report.look_at += [f"{kind} {id}" for id in others[:LOOKED_AT]]


def _proposals(actor: Actor, source: _Source, report: Forgotten) -> None:
    """What it proposed or decided about waits for a curator again: the history stays, and no agent hears it."""
    meant = Q(pk__in=[int(id) for id in source.touched(Kind.COMPANY)])
    if source.session:
        meant |= Q(source_session=source.session)
    rows = CompanyEntry.objects.filter(meant).order_by("pk")
    told = list(rows.filter(status=Status.APPROVED).values_list("pk", flat=True))
    report.proposals = len(told)
    report.look_at += [entry.handle for entry in rows[:LOOKED_AT]]
    if report.dry_run:
        return
    wait_for_pairs()
    digests = set(_passages(Kind.COMPANY, told).values_list("digest", flat=True))
    for number in told:
        entry = entry_to_change(number)
        record(actor, entry, Action.REOPEN, notes=REOPENED, changes=WAITING)
    _forget_vectors(digests)


def _written(written: Q, source: _Source, session: str) -> Q:
    return written | Q(**{session: source.session}) if source.session else written


def _erase(rows: QuerySet[Any], kind: Kind, report: Forgotten) -> int:
    """Delete rows with their passages, and the vectors of their texts where nothing else has the same."""
    ids = list(rows.values_list("pk", flat=True))
    if ids and not report.dry_run:
        digests = set(_passages(kind, ids).values_list("digest", flat=True))
        forget_passages(kind, ids)
        rows.model._default_manager.filter(pk__in=ids).delete()
        _forget_vectors(digests)
    return len(ids)


def _forget_vectors(digests: set[str]) -> None:
    """Forget the cached vectors of texts that nothing has any more."""
    kept = Passage.objects.filter(digest__in=digests).values("digest")
    CachedVector.objects.filter(digest__in=digests).exclude(digest__in=kept).delete()


def _passages(kind: Kind, ids: Iterable[object]) -> QuerySet[Passage]:
    return Passage.objects.filter(kind=kind, source_id__in=[str(id) for id in ids])

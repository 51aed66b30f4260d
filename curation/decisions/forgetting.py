"""Forgetting a source: deletes everything that a key, an agent, a session, an app or a file wrote, in one step."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from pydantic import AfterValidator, Field

from accounts.actor import Actor, acting, acts
from accounts.models import User
from accounts.services.erasure_reports import Erased, report_erasure
from accounts.services.idempotency import forget_kept_replies
from bigmind.core.argument_types import RowId, Since
from bigmind.core.handles import handle_of
from bigmind.core.private_row_numbers import number_in
from bigmind.database.rls import rls_scope
from bigmind.text.hygiene import check_content
from curation.models import Comment
from curation.shapes.reviews import ForgottenShape
from knowledge.app_maps.forgetting import forget_entity
from knowledge.argument_types import SomeSessionId
from knowledge.exposures.exposures import Exposure
from knowledge.exposures.gaps import forget_questions, questions_asked
from knowledge.exposures.recent_questions import forget_asked
from knowledge.exposures.withdrawals import withdraw
from knowledge.kinds import KINDS, MemoryKind
from knowledge.models import (
    AppEntity,
    AppWorkflow,
    Chunk,
    CompanyEntry,
    Entry,
    Feedback,
    Kind,
    Passage,
    Reference,
)
from knowledge.references.imports import remove_references
from knowledge.search.passages import erase_passages
from knowledge.shapes.counts import count_all

from .withdrawn_sources import WHY, Meant, WithdrawnSource, ids_of_approved, quarantine, sources_of, tell_owners

KeyOfSource = Annotated[UUID, Field(description="The id of the key that wrote it, as the page “Keys” shows it.")]
AgentOfSource = Annotated[RowId, Field(description="The number of the agent that wrote it.")]
AppOfSource = Annotated[RowId, Field(description="The number of the connected app that wrote it.")]
FileOfSource = Annotated[
    str,
    AfterValidator(check_content),
    Field(max_length=500, description="The file that shared entries or documentation were imported from."),
]
OriginOfSource = Annotated[
    Literal["", "user", "inferred", "tool", "imported"],
    Field(description="Origin of company entries: all of these wait for a curator again."),
]
DryRun = Annotated[bool, Field(description="True: only count. False: really forget.")]
LOOKED_AT = 50
LEFT_TO_PEOPLE = [kind for kind in KINDS if kind is not Kind.COMPANY]
"""What a source only changed is named by its kind and id; a company entry by its handle, in a step of its own."""
PROFILE = "memory_update_profile"
_BY_DEFAULT = {Kind(kind): row for kind, row in KINDS.items() if not row.is_forgotten_apart}
Forgotten = count_all(ForgottenShape, (row.plural for row in _BY_DEFAULT.values()))
_TOLD = ("open_sessions_told", "ended_sessions_told", "people_told")
_FORGOTTEN = [name for name in Forgotten.model_fields if name not in {"dry_run", "report", "look_at", *_TOLD}]


@dataclass
class _Work:
    """One run of forgetting: the counts, the content of the report, and what sessions had received."""

    actor: Actor
    dry_run: bool
    erased: Erased
    counts: Counter[str] = field(default_factory=Counter)
    look_at: list[str] = field(default_factory=list)
    told: list[Exposure] = field(default_factory=list)
    sessions: list[Any] = field(default_factory=list)
    approved: list[int] = field(default_factory=list)

    def leave_to_people(self, what: str) -> None:
        """Add an item that people have to check themselves, once."""
        if what not in self.look_at:
            self.look_at.append(what)

    def reply(self, report: int | None) -> ForgottenShape:
        """Return how many items of each kind were forgotten, or would be."""
        counts: dict[str, Any] = {name: self.counts[name] for name in (*_FORGOTTEN, *_TOLD)}
        return Forgotten(dry_run=self.dry_run, report=report, look_at=self.look_at, **counts)


@transaction.atomic
def forget_source(
    actor: Actor,
    *,
    key: KeyOfSource | None = None,
    agent: AgentOfSource | None = None,
    session_id: SomeSessionId | None = None,
    app: AppOfSource | None = None,
    source_file: FileOfSource = "",
    origin: OriginOfSource = "",
    since: Since | None = None,
    dry_run: DryRun = True,
) -> ForgottenShape:
    """Forget everything that a key, agent, session, connected app or imported file wrote, ever or since a date.

    Call this first as is, which only counts; then with `dry_run` false, if the user agrees. Company knowledge it
    proposed is hidden until a curator decides again, and sessions that saw it are notified. Returns the counts and the
    number of a signed report; it cannot be undone.
    """
    meant = Meant(key, agent, session_id, app, source_file, origin, since)
    work = _Work(actor, dry_run, Erased({"what": "source", **meant.said}))
    sources = list(sources_of(actor, meant))
    for source in sources:
        with rls_scope(source.user.pk):
            for step in _STEPS:
                step(source, work)
    _proposals(work)
    _tell(work)
    return work.reply(None if dry_run else _report(work, {source.user for source in sources}))


def _own_things(source: WithdrawnSource, work: _Work) -> None:
    """Erase of each kind of one's own what it wrote, or what was stored in the session that is meant."""
    for kind, row in _BY_DEFAULT.items():
        if row.own:
            meant = _or_in_session(Q(pk__in=_keys(source.ids(kind), row)), source, row.session)
            work.counts[row.plural] += _erase(row.own.rows(source.user).filter(meant), kind, work)


def _erase_shared(source: WithdrawnSource, work: _Work) -> None:
    """Erase of each shared kind what it added. What others wrote on as well is left to people."""
    for kind, row in _BY_DEFAULT.items():
        if row.is_shared:
            of_others = source.of_others_too(kind)
            rows = row.model._default_manager.filter(pk__in=_keys({*source.ids(kind)} - {*of_others}, row))
            work.counts[row.plural] += _erase(rows, kind, work)
            for id in of_others[:LOOKED_AT]:
                work.leave_to_people(f"{kind} {id}")


def _keys(ids: Iterable[str], row: MemoryKind) -> list[Any]:
    return [row.read_id(id) for id in ids]


def _chunks(source: WithdrawnSource, work: _Work) -> None:
    """Erase the exchanges that it flagged, and all exchanges of the sessions that are erased."""
    meant = Q(pk__in=source.numbers(Kind.CHUNK)) | Q(session__in=source.sessions)
    work.counts["chunks"] += _erase(Chunk.objects.filter(meant, user=source.user), Kind.CHUNK, work)


def _erase_entries(source: WithdrawnSource, work: _Work) -> None:
    """Erase the shared entries that it added, or that came from the file."""
    mine = Entry.objects.filter(pk__in=source.ids(Kind.ENTRY), created_by=source.user)
    rows = Entry.objects.filter(Q(pk__in=mine) | Q(pk__in=source.entries.values("pk")))
    work.counts["entries"] += _erase(rows, Kind.ENTRY, work)


def _maps(source: WithdrawnSource, work: _Work) -> None:
    """Erase what it added to app maps. A table or an app may hold the work of others, so people check these."""
    entities = AppEntity.objects.filter(pk__in=source.numbers(Kind.APP_ENTITY)).select_related("table__app")
    workflows = AppWorkflow.objects.filter(pk__in=source.numbers(Kind.APP_WORKFLOW))
    work.counts["app_entities"] += entities.count()
    if not work.dry_run:
        for entity in entities:
            forget_entity(entity)
    work.counts["app_entities"] += _erase(workflows, Kind.APP_WORKFLOW, work)
    for table in source.ids_touched(Kind.APP_TABLE):
        work.leave_to_people(f"{Kind.APP_TABLE} {table}")


def _documentation(source: WithdrawnSource, work: _Work) -> None:
    """Erase the references that it imported. One that others wrote too is archived instead, for people to check."""
    rows = Reference.objects.filter(Q(pk__in=source.ids_worded_last(Kind.REFERENCE)) | Q(pk__in=source.references))
    rows = rows.filter(edited_at=None)  # what a person has edited since has that person's words
    of_others = source.of_others_too(Kind.REFERENCE)
    shared = list(rows.filter(pk__in=of_others, removed_at=None).select_for_update(no_key=True).order_by("pk"))
    work.counts["references"] += len(shared) + _erase(rows.exclude(pk__in=of_others), Kind.REFERENCE, work)
    work.told += [Exposure(Kind.REFERENCE.value, str(one.pk)) for one in shared]
    for one in shared[:LOOKED_AT]:
        work.leave_to_people(f"{Kind.REFERENCE} {one.pk}")
    if shared and not work.dry_run:
        remove_references(shared, by=work.actor.user)


def _erase_remarks(source: WithdrawnSource, work: _Work) -> None:
    """Erase its feedback, and its comments on company entries."""
    feedback = Feedback.objects.filter(pk__in=source.numbers("feedback"), user=source.user)
    comments = Comment.objects.filter(pk__in=source.numbers("comment"), by=source.user)
    work.counts["feedback"] += feedback.count()
    work.counts["comments"] += comments.count()
    work.erased.note("feedback", feedback.exclude(note="").values_list("note", flat=True))
    work.erased.note("comment", comments.values_list("text", flat=True))
    if not work.dry_run:
        feedback.delete()
        comments.delete()


def _questions(source: WithdrawnSource, work: _Work) -> None:
    """Erase the unanswered questions of that time. The key that asked is not stored, so it erases a few too many."""
    if source.since is None:
        return
    questions = questions_asked(source.user, since=source.since, until=source.until)
    work.counts["questions"] += questions.count()
    work.erased.note("question", questions.values_list("text", flat=True))
    if not work.dry_run:
        forget_questions(questions)
        forget_asked(source.user, since=source.since, until=source.until)


def _note_changes(source: WithdrawnSource, work: _Work) -> None:
    """List what it changed but did not create: only people can tell what was there before."""
    for kind in LEFT_TO_PEOPLE:
        others = sorted(set(source.ids_touched(kind)) - set(source.ids(kind)))
        for id in others[:LOOKED_AT]:
            work.leave_to_people(f"{kind} {number_in(id)}")
    if source.calls.filter(operation=PROFILE, outcome="ok").exists():
        work.leave_to_people("profile")


def _quarantine_derived(source: WithdrawnSource, work: _Work) -> None:
    """Collect the company entries that it proposed or decided about, and those that derive from what it wrote."""
    meant = Q(pk__in=[int(id) for id in source.ids_touched(Kind.COMPANY)]) | Q(pk__in=source.company.values("pk"))
    meant |= Q(source_session__in=source.sessions)
    for kind in {one.kind for one in work.told}:
        meant |= Q(source_kind=kind, source_id__in=[one.source_id for one in work.told if one.kind == kind])
    rows = CompanyEntry.objects.filter(meant).order_by("pk")
    work.approved += [number for number in ids_of_approved(rows) if number not in work.approved]
    # Its words may be part of the entry that it was merged into: only people can tell.
    merged = CompanyEntry.objects.filter(supersedes__in=rows).order_by("pk")
    for entry in [*rows[:LOOKED_AT], *merged[:LOOKED_AT]]:
        work.leave_to_people(entry.handle)


def _sessions(source: WithdrawnSource, work: _Work) -> None:
    work.sessions += list(source.sessions.values_list("pk", flat=True))
    work.counts["sessions"] += _erase(source.sessions, Kind.SUMMARY, work)


def _replies(source: WithdrawnSource, work: _Work) -> None:
    if not work.dry_run:
        forget_kept_replies(source.user)


_STEPS = (
    _own_things,
    _chunks,
    _erase_shared,
    _erase_entries,
    _maps,
    _documentation,
    _erase_remarks,
    _questions,
    _note_changes,
    _quarantine_derived,
    _sessions,
    _replies,
)
"""The steps for each source. The order matters: company entries are found by the items they derive from, so those come
first; sessions are erased last, because the rest is found by them."""


def _proposals(work: _Work) -> None:
    """Put the collected company entries back into the queue. Their history stays, and agents no longer get them.

    They are not erased: people agreed to them, and one poisoned session must not undo what others decided. Decision 19.
    """
    work.counts["proposals"] = len(work.approved)
    work.erased.quarantined = [handle_of(Kind.COMPANY, str(number)) for number in work.approved]
    work.told += [Exposure(Kind.COMPANY.value, str(number)) for number in work.approved]
    if not work.dry_run:
        quarantine(work.actor, work.approved)


def _tell(work: _Work) -> None:
    """Notify the sessions that had received any of it, except those that are erased themselves."""
    heard = withdraw(work.told, why=WHY, but=work.sessions, dry_run=work.dry_run)
    work.erased.told = heard.counts
    work.counts.update(open_sessions_told=heard.open, ended_sessions_told=heard.ended, people_told=len(heard.people))
    if not work.dry_run:
        tell_owners(heard)


def _report(work: _Work, users: set[User]) -> int:
    work.erased.counts = {name: work.counts[name] for name in _FORGOTTEN}
    whose = users.pop() if len(users) == 1 else None
    with acts(acting() or work.actor):
        return report_erasure(work.erased, whose=whose).pk


def _or_in_session(written: Q, source: WithdrawnSource, session: str) -> Q:
    return written | Q(**{session: source.session}) if source.session and session else written


def _erase(rows: QuerySet[Any], kind: Kind, work: _Work) -> int:
    """Delete rows with their passages, and vectors that no other text shares. Returns how many rows.

    Also in a dry run the items count as exposures, so that the preview names the sessions that had received them.
    """
    ids = list(rows.values_list("pk", flat=True))
    work.told += [Exposure(kind.value, str(id)) for id in ids]
    if ids and not work.dry_run:
        passages = Passage.objects.filter(kind=kind, source_id__in=[str(id) for id in ids])
        work.erased.note(kind, passages.values_list("digest", flat=True))
        work.erased.ids.setdefault(kind.value, []).extend(number_in(str(id)) for id in ids)
        erase_passages(kind, ids)
        rows.model._default_manager.filter(pk__in=ids).delete()
    return len(ids)

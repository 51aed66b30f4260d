"""Decisions of curators about proposals and approved entries: what each does. All are recorded, and can be undone."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from django.db import transaction
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.argument_types import Importance, RowId
from bigmind.core.errors import BigMindError, Conflict, Invalid
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.text.hygiene import echo
from curation.argument_types import CompanyEntryId, CompanyText, CompanyTitle, Notes, Revision
from curation.decisions.golden_questions import require_golden_questions
from curation.decisions.history import WAITING, entry_to_change, new_batch, record
from curation.decisions.overlaps import note_contradictions
from curation.decisions.undoing import undo
from curation.decisions.who_may_decide import (
    DecisionRequest,
    changes_text,
    fields_of_approval,
    fields_of_decision,
    fields_of_verification,
    find_target,
    is_personal,
    needs_second_approval,
    require_may_approve,
    require_may_edit,
    require_notes,
    require_status,
)
from curation.models import Action, Claim, Review
from knowledge.anchors.grammar import Anchors, join_anchors
from knowledge.argument_types import CompanyCategoryName, Triggers
from knowledge.exposures.feedback import settle_complaints
from knowledge.models import CompanyEntry, Kind, Status

BULK = 100
_ONE_BY_ONE = frozenset({"approve", "edit", "merge", "restore", "supersede", "undo"})
"""Actions that lock two entries, or that must see what the one before them approved: they run one at a time."""

_UNREAD = frozenset({"reject", "request_changes", "deprecate"})
"""Actions that bring no text into force: they need not say which revision was read."""
SHOWN_CHARS = 10_000

DecisionName = Annotated[
    Literal[
        "approve",
        "reject",
        "request_changes",
        "merge",
        "edit",
        "verify",
        "keep",
        "deprecate",
        "supersede",
        "restore",
        "reopen",
        "undo",
    ],
    Field(description="What to do with it."),
]
Despite = Annotated[
    list[CompanyEntryId],
    Field(max_length=20, description="Approved entries that hold beside it: the pair is not shown again."),
]
Losing = Annotated[
    list[RowId],
    Field(max_length=20, description="Numbers of golden questions that may lose their item by this."),
]
Into = Annotated[CompanyEntryId, Field(description="For merge and supersede: the approved entry that replaces it.")]
IntoRevision = Annotated[
    Revision, Field(description="The revision of `into` you have read, for a merge that changes it.")
]


@dataclass(frozen=True)
class Decision:
    """The entry after a decision, and the step of the history that records it."""

    entry: CompanyEntry
    review: Review
    may_contradict: Annotated[
        list[str], Field(description="Approved entries that it may contradict, each with why.")
    ] = field(default_factory=list)

    @property
    def status(self) -> str:
        return self.entry.status


@dataclass(frozen=True)
class RefusedDecision:
    """One entry that was not decided."""

    entry_id: int
    handle: str
    reason: str


@dataclass
class Decisions:
    """What was decided in bulk, and not."""

    decided: list[Decision] = field(default_factory=list)
    refused: list[RefusedDecision] = field(default_factory=list)


@transaction.atomic
def approve_global(
    actor: Actor,
    *,
    entry_id: CompanyEntryId,
    action: DecisionName,
    revision: Revision | None = None,
    notes: Notes = "",
    into: Into | None = None,
    into_revision: IntoRevision | None = None,
    title: CompanyTitle | None = None,
    content: CompanyText | None = None,
    category: CompanyCategoryName | None = None,
    importance: Importance | None = None,
    anchors: Anchors | None = None,
    despite: Despite | None = None,
    losing: Losing | None = None,
    triggers: Triggers | None = None,
) -> Decision:
    """Decide on company knowledge, as a curator: approve, reject, request_changes, merge, deprecate, restore, …

    Call this only when a curator tells you to. Approve, edit and merge can change title, content, category, importance,
    anchors and triggers. Rejecting needs notes, which the proposer reads. `undo` reverts the last decision. If
    the entry is newer than `revision`, the refusal lists the changes; if a team leaves it out, it shows the text. If it
    may lose golden questions, the refusal lists their numbers: ask the curator, then name them. Returns the entry, and
    what it may contradict.
    """
    actor.require("curate")
    if action in _ONE_BY_ONE:
        wait_for_pairs()
    entry = entry_to_change(entry_id, revision=revision)
    unread = None if revision or action in _UNREAD or is_personal() else _ask_to_read(entry)
    given: dict[str, Any] = {"title": title, "content": content, "category": category}
    given |= {"importance": importance, "anchors": anchors, "triggers": triggers}
    edits = {name: value for name, value in given.items() if value is not None}
    if triggers is not None and triggers != entry.triggers:
        # Its level was decided for other triggers: new ones start in shadow mode.
        edits["trigger_levels"] = {}
    review = ACTIONS[action](DecisionRequest(actor, entry, notes.strip(), into, into_revision, edits))
    changed = _entries_of(review)
    # Asked of the index as the decision leaves it: a refusal takes the decision back with the transaction.
    if changed:
        require_golden_questions([one.pk for one in changed], [one.text for one in changed], losing or ())
    if unread:  # Last, so that the call it offers is one that is accepted.
        raise unread
    Claim.objects.filter(entry=entry).delete()
    return Decision(review.entry, review, _note_contradictions(review, changed, despite or ()))


def decide_many(
    actor: Actor,
    *,
    entry_ids: Annotated[list[CompanyEntryId], Field(min_length=1, max_length=BULK)],
    action: Literal["approve", "reject", "request_changes", "verify", "deprecate"],
    revisions: Annotated[
        dict[str, Revision],
        Field(max_length=BULK, description="The revision you read of each entry, by its number: {'142': 3}."),
    ]
    | None = None,
    notes: Notes = "",
    despite: Despite | None = None,
    losing: Losing | None = None,
) -> Decisions:
    """Decide on up to 100 entries at once, as a curator. Each is decided separately: a refusal stops no other.

    Call this only when a curator tells you to. Returns what was decided, and for each refusal the entry and the reason.
    """
    actor.require("curate")
    done = Decisions()
    # Within a transaction (a call with an idempotency key has one) all these entries stay locked to its end. Without
    # one this keeps nothing locked, and needs not: each entry is decided in a transaction of its own.
    wait_for_pairs()
    for entry_id in sorted(set(entry_ids)):
        try:
            decided = approve_global(
                actor,
                entry_id=entry_id,
                action=action,
                notes=notes,
                revision=(revisions or {}).get(str(entry_id)),
                despite=despite,
                losing=losing,
            )
            done.decided.append(decided)
        except BigMindError as refusal:
            done.refused.append(RefusedDecision(entry_id, f"C{entry_id}", str(refusal)))
    return done


def approve_at_once(actor: Actor, entry: CompanyEntry) -> None:
    """Approve an entry in personal mode, where its proposer decides alone."""
    record(actor, entry, Action.APPROVE, changes=fields_of_approval(actor, entry, notes=""))


def _ask_to_read(entry: CompanyEntry) -> Conflict:
    """Return the refusal of a decision that does not say which revision was read: it shows the text of this one."""
    return Conflict(
        f"revision is required: {entry.handle} is decided on as it was read.",
        hint=f"Revision {entry.revision}, {echo(entry.title)}: {echo(entry.content, limit=SHOWN_CHARS)}",
        entry_id=entry.pk,
        revision=entry.revision,
        send={"revision": entry.revision},
    )


def _note_contradictions(review: Review, changed: list[CompanyEntry], despite: Collection[int]) -> list[str]:
    """Return what the texts that were just approved may contradict, and let the queue show those pairs.

    Args:
        despite: What the curator says holds beside them.
    """
    is_new_text = bool({"title", "content"} & review.changed.keys())
    return [
        f"{other.handle} {echo(other.title)} ({why[0]})"
        for entry in changed
        if entry.is_approved
        for other, why in note_contradictions(entry, despite, is_new_text=is_new_text).items()
    ]


def _entries_of(review: Review) -> list[CompanyEntry]:
    """Return the entries whose approved text a decision changed, or that it brought into force or took out of it."""
    steps: Iterable[Review] = [review]
    if review.action in {Action.MERGE, Action.UNDO}:  # A merge changes the entry that it is merged into.
        steps = Review.objects.filter(batch=review.batch).select_related("entry")
    return [
        step.entry
        for step in steps
        if Status.APPROVED in {step.after["status"], (step.before or {}).get("status")}
        and {"status", "title", "content"} & step.changed.keys()
    ]


def wait_for_pairs() -> None:
    """Wait until no other transaction locks several entries: two that lock in a different order would deadlock."""
    wait_for_turn(AdvisoryLock.DECISIONS, "pairs")


def _record(request: DecisionRequest, action: Action, changes: dict[str, Any] | None = None) -> Review:
    return record(request.actor, request.entry, action, notes=request.notes, changes=changes)


def _record_and_settle(request: DecisionRequest, action: Action, changes: dict[str, Any] | None = None) -> Review:
    """Record a step that settles the complaints about an entry, because a curator has looked at it."""
    review = _record(request, action, changes)
    settle_complaints(Kind.COMPANY, request.entry.pk)
    return review


def _fields_of(request: DecisionRequest, status: Status, **more: Any) -> dict[str, Any]:
    return {**fields_of_decision(request.actor, status=status, notes=request.notes), **more}


def _approve(request: DecisionRequest) -> Review:
    actor, entry = request.actor, request.entry
    require_status(entry, Status.PENDING, Status.CHANGES_REQUESTED)
    require_may_approve(actor, entry)
    importance = request.edits.get("importance", entry.importance)
    endorsed = {**request.edits, "endorsed_by_id": actor.user.pk}
    if needs_second_approval(actor, entry, importance=importance):
        # With edits it is another text, of which this curator is the first to approve again.
        if entry.endorsed_by_id == actor.user.pk and not request.edits:
            raise Conflict(f"You have approved {entry.handle} already.", hint="A second curator has to agree.")
        return _record(request, Action.ENDORSE, endorsed)
    if request.edits and entry.endorsed_by_id not in {None, actor.user.pk} and changes_text(request):
        # The first approval was for another text, so it does not count: this approval becomes the first of two.
        return _record(request, Action.ENDORSE, endorsed)
    return _record(request, Action.APPROVE, {**request.edits, **fields_of_approval(actor, entry, notes=request.notes)})


def _reject(request: DecisionRequest) -> Review:
    require_status(request.entry, Status.PENDING, Status.CHANGES_REQUESTED)
    require_notes(request, "Rejecting")
    return _record(request, Action.REJECT, _fields_of(request, Status.REJECTED))


def _request_changes(request: DecisionRequest) -> Review:
    require_status(request.entry, Status.PENDING)
    require_notes(request, "Asking for changes")
    # The text is going to change, so the first of two approvals does not count for it any more.
    changes = _fields_of(request, Status.CHANGES_REQUESTED, endorsed_by_id=None)
    return _record(request, Action.REQUEST_CHANGES, changes)


def _merge(request: DecisionRequest) -> Review:
    """Merge a proposal into an approved entry: the edits go there, the proposal points to it, both stay credited."""
    require_status(request.entry, Status.PENDING, Status.CHANGES_REQUESTED)
    require_may_approve(request.actor, request.entry)
    target, batch = find_target(request), new_batch()
    if request.edits:
        if request.into_revision is None:
            hint = f"Read C{target.pk} (memory_get_global), which shows it."
            raise Invalid.of("into_revision", "is required, because the merge changes that entry", hint=hint)
        require_may_edit(request, target)
        changes = {
            "anchors": join_anchors(request.entry.anchors, target.anchors),
            **request.edits,
            **fields_of_verification(target),
        }
        record(request.actor, target, Action.EDIT, notes=request.notes, changes=changes, batch=batch)
        settle_complaints(Kind.COMPANY, target.pk)
    # Without a date of verification: its own text was never approved, so it stays with its proposer and the curators.
    changes = _fields_of(request, Status.SUPERSEDED, superseded_by_id=target.pk, verified_at=None)
    return record(request.actor, request.entry, Action.MERGE, notes=request.notes, changes=changes, batch=batch)


def _edit(request: DecisionRequest) -> Review:
    require_status(request.entry, Status.APPROVED)
    if not request.edits:
        raise Invalid.of("action", "edit needs title, content, category, importance, anchors or triggers")
    require_may_edit(request, request.entry)
    return _record_and_settle(request, Action.EDIT, {**request.edits, **fields_of_verification(request.entry)})


def _verify(request: DecisionRequest) -> Review:
    require_status(request.entry, Status.APPROVED)
    return _record_and_settle(request, Action.VERIFY, fields_of_verification(request.entry))


def _keep(request: DecisionRequest) -> Review:
    """Settle the complaints about an entry without changing or verifying it."""
    require_status(request.entry, Status.APPROVED)
    return _record_and_settle(request, Action.KEEP)


def _deprecate(request: DecisionRequest) -> Review:
    require_status(request.entry, Status.APPROVED)
    return _record_and_settle(request, Action.DEPRECATE, _fields_of(request, Status.DEPRECATED))


def _supersede(request: DecisionRequest) -> Review:
    require_status(request.entry, Status.APPROVED)
    changes = _fields_of(request, Status.SUPERSEDED, superseded_by_id=find_target(request).pk)
    return _record_and_settle(request, Action.SUPERSEDE, changes)


def _restore(request: DecisionRequest) -> Review:
    require_status(request.entry, Status.DEPRECATED, Status.SUPERSEDED)
    require_may_approve(request.actor, request.entry)
    if request.entry.verified_at is None:
        hint = "`reopen` lets it wait for a decision."
        raise Conflict(f"{request.entry.handle} was merged before its own text was approved.", hint=hint)
    approved = fields_of_approval(request.actor, request.entry, notes=request.notes)
    return _record(request, Action.RESTORE, {**approved, "superseded_by_id": None})


def _reopen(request: DecisionRequest) -> Review:
    """Put an entry back into the queue, whatever was decided about it."""
    if request.entry.status == Status.PENDING:
        raise Conflict(f"{request.entry.handle} waits for a decision already.")
    return _record(request, Action.REOPEN, {**WAITING, "superseded_by_id": None})


ACTIONS: dict[str, Callable[[DecisionRequest], Review]] = {
    "approve": _approve,
    "reject": _reject,
    "request_changes": _request_changes,
    "merge": _merge,
    "edit": _edit,
    "verify": _verify,
    "keep": _keep,
    "deprecate": _deprecate,
    "supersede": _supersede,
    "restore": _restore,
    "reopen": _reopen,
    "undo": undo,
}

"""Decisions of curators about proposals and approved entries. Each is recorded, and can be undone."""

from collections.abc import Callable, Collection
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import uuid4

from django.db import transaction
from django.db.models import ForeignKey
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.advisory_locks import wait_for_turn
from bigmind.core.errors import BigMindError, Conflict, Invalid
from bigmind.core.text import echo
from bigmind.core.vocabulary import Importance, RowId
from curation.decisions.history import TRACKED, WAITING, entry_to_change, new_batch, record, snapshot
from curation.decisions.rules import needs_four_eyes, needs_second_approval, require_may_approve
from curation.models import Action, Claim, Review
from curation.proposals.neighbours import contradicting
from curation.proposals.overlaps import open_pairs, settle, unsettle
from curation.services.golden_questions import require_golden_questions
from curation.vocabulary import CompanyEntryId, CompanyText, CompanyTitle, Notes, Revision
from knowledge.anchors.grammar import Anchors, join_anchors
from knowledge.models import CompanyEntry, Kind, Status
from knowledge.services.feedback import reopen_complaints, settle_complaints
from knowledge.vocabulary import CompanyCategoryName, Triggers

BULK = 100
_LOCK = 7706
_ONE_BY_ONE = frozenset({"approve", "edit", "merge", "restore", "supersede", "undo"})
"""Actions that lock two entries, or that must see what the one before them approved: they run one at a time."""

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
    Field(max_length=20, description="Numbers of approved entries it may contradict that also stay valid."),
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
    """A decision that was made: the entry after it, and the step of the history that records it."""

    entry: CompanyEntry
    review: Review

    @property
    def status(self) -> str:
        """The status of the entry now."""
        return self.entry.status


@dataclass
class Decisions:
    """The decisions that were made in bulk, and the entries that were refused, each with its reason."""

    decided: list[Decision] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class _DecisionRequest:
    """One decision as the curator requests it."""

    actor: Actor
    entry: CompanyEntry
    notes: str
    into: int | None
    into_revision: int | None
    edits: dict[str, Any]
    despite: frozenset[int] = frozenset()


@transaction.atomic
def approve_global(
    actor: Actor,
    *,
    entry_id: CompanyEntryId,
    action: DecisionName,
    revision: Revision,
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
    the entry is newer than `revision`, the refusal lists the changes. If it may contradict approved entries or lose
    golden questions, the refusal lists their numbers: ask the curator, then name them. Returns the entry.
    """
    actor.require("curate")
    if action in _ONE_BY_ONE:
        wait_for_pairs()
    entry = entry_to_change(entry_id, revision=revision)
    given: dict[str, Any] = {"title": title, "content": content, "category": category}
    given |= {"importance": importance, "anchors": anchors, "triggers": triggers}
    edits = {name: value for name, value in given.items() if value is not None}
    if triggers is not None and triggers != entry.triggers:
        # Its level was decided for other triggers: new ones start in shadow mode.
        edits["trigger_levels"] = {}
    review = _ACTIONS[action](
        _DecisionRequest(actor, entry, notes.strip(), into, into_revision, edits, frozenset(despite or ()))
    )
    _require_golden_questions(review, losing or ())
    Claim.objects.filter(entry=entry).delete()
    return Decision(review.entry, review)


def decide_many(
    actor: Actor,
    *,
    entry_ids: Annotated[list[CompanyEntryId], Field(min_length=1, max_length=BULK)],
    action: Literal["approve", "reject", "request_changes", "verify", "deprecate"],
    revisions: Annotated[
        dict[str, Revision],
        Field(max_length=BULK, description="The revision you read of each entry, by its number: {'142': 3}."),
    ],
    notes: Notes = "",
    despite: Despite | None = None,
    losing: Losing | None = None,
) -> Decisions:
    """Decide on up to 100 entries at once, as a curator. Each is decided separately: a refusal stops no other.

    Call this only when a curator tells you to. Returns what was decided, and for each refusal the entry and the reason.
    """
    actor.require("curate")
    done = Decisions()
    wait_for_pairs()
    for entry_id in sorted(set(entry_ids)):
        try:
            seen = revisions.get(str(entry_id))
            if seen is None:
                hint = "memory_list_queue and memory_brief_curator show the revision: read it, then send it."
                raise Invalid.of(f"revisions.{entry_id}", f"is required to decide about C{entry_id}", hint=hint)
            decided = approve_global(
                actor,
                entry_id=entry_id,
                action=action,
                notes=notes,
                revision=seen,
                despite=despite,
                losing=losing,
            )
            done.decided.append(decided)
        except BigMindError as refusal:
            done.refused.append({"entry_id": entry_id, "handle": f"C{entry_id}", "reason": str(refusal)})
    return done


def approve_at_once(actor: Actor, entry: CompanyEntry, *, notes: str = "") -> Review:
    """Approve an entry in personal mode, where its proposer decides alone, or as a line of a pack that was reviewed.

    Returns the step that was recorded.
    """
    return record(actor, entry, Action.APPROVE, notes=notes, changes=_fields_of_approval(actor, entry, notes=notes))


def _approve(request: _DecisionRequest) -> Review:
    actor, entry = request.actor, request.entry
    _require_status(entry, Status.PENDING, Status.CHANGES_REQUESTED)
    require_may_approve(actor, entry)
    _require_despite(request, entry)
    importance = request.edits.get("importance", entry.importance)
    if needs_second_approval(actor, entry, importance=importance):
        if entry.endorsed_by_id == actor.user.pk and not request.edits:
            raise Conflict(f"You have approved {entry.handle} already.", hint="A second curator has to agree.")
        changes = {**request.edits, "endorsed_by_id": actor.user.pk}
        return record(actor, entry, Action.ENDORSE, notes=request.notes, changes=changes)
    if request.edits and entry.endorsed_by_id not in {None, actor.user.pk} and _changes_text(request):
        # The first approval was for another text, so it does not count: this approval becomes the first of two.
        changes = {**request.edits, "endorsed_by_id": actor.user.pk}
        return record(actor, entry, Action.ENDORSE, notes=request.notes, changes=changes)
    changes = {**request.edits, **_fields_of_approval(actor, entry, notes=request.notes)}
    return record(actor, entry, Action.APPROVE, notes=request.notes, changes=changes)


def _reject(request: _DecisionRequest) -> Review:
    _require_status(request.entry, Status.PENDING, Status.CHANGES_REQUESTED)
    _require_notes(request, "Rejecting")
    return record(
        request.actor,
        request.entry,
        Action.REJECT,
        notes=request.notes,
        changes=_fields_of_decision(request, status=Status.REJECTED),
    )


def _request_changes(request: _DecisionRequest) -> Review:
    _require_status(request.entry, Status.PENDING)
    _require_notes(request, "Asking for changes")
    # The text is going to change, so the first of two approvals does not count for it any more.
    changes = {**_fields_of_decision(request, status=Status.CHANGES_REQUESTED), "endorsed_by_id": None}
    return record(request.actor, request.entry, Action.REQUEST_CHANGES, notes=request.notes, changes=changes)


def _merge(request: _DecisionRequest) -> Review:
    """Merge a proposal into an approved entry: the edits go there, the proposal points to it, both stay credited."""
    _require_status(request.entry, Status.PENDING, Status.CHANGES_REQUESTED)
    require_may_approve(request.actor, request.entry)
    target, batch = _target(request), new_batch()
    if request.edits:
        if request.into_revision is None:
            hint = f"Read C{target.pk} (memory_get_global), which shows it."
            raise Invalid.of("into_revision", "is required, because the merge changes that entry", hint=hint)
        _require_may_edit(request, target)
        _require_despite(request, target)
        now = timezone.now()
        changes = {"anchors": join_anchors(request.entry.anchors, target.anchors), **request.edits}
        changes |= {"verified_at": now, "review_after": target.review_date_after(now)}
        record(request.actor, target, Action.EDIT, notes=request.notes, changes=changes, batch=batch)
        settle_complaints(Kind.COMPANY, target.pk)
    # Without a date of verification: its own text was never approved, so it stays with its proposer and the curators.
    changes = {
        **_fields_of_decision(request, status=Status.SUPERSEDED),
        "superseded_by_id": target.pk,
        "verified_at": None,
    }
    return record(request.actor, request.entry, Action.MERGE, notes=request.notes, changes=changes, batch=batch)


def _edit(request: _DecisionRequest) -> Review:
    _require_status(request.entry, Status.APPROVED)
    if not request.edits:
        raise Invalid.of("action", "edit needs title, content, category, importance, anchors or triggers")
    _require_may_edit(request, request.entry)
    _require_despite(request, request.entry)
    now = timezone.now()
    changes = {**request.edits, "verified_at": now, "review_after": request.entry.review_date_after(now)}
    review = record(request.actor, request.entry, Action.EDIT, notes=request.notes, changes=changes)
    settle_complaints(Kind.COMPANY, request.entry.pk)
    return review


def _verify(request: _DecisionRequest) -> Review:
    """Mark an entry as verified. This settles its complaints, because a curator has checked it."""
    _require_status(request.entry, Status.APPROVED)
    now = timezone.now()
    changes = {"verified_at": now, "review_after": request.entry.review_date_after(now)}
    review = record(request.actor, request.entry, Action.VERIFY, notes=request.notes, changes=changes)
    settle_complaints(Kind.COMPANY, request.entry.pk)
    return review


def _keep(request: _DecisionRequest) -> Review:
    """Settle the complaints about an entry without changing or verifying it."""
    _require_status(request.entry, Status.APPROVED)
    review = record(request.actor, request.entry, Action.KEEP, notes=request.notes)
    settle_complaints(Kind.COMPANY, request.entry.pk)
    return review


def _deprecate(request: _DecisionRequest) -> Review:
    _require_status(request.entry, Status.APPROVED)
    changes = _fields_of_decision(request, status=Status.DEPRECATED)
    review = record(request.actor, request.entry, Action.DEPRECATE, notes=request.notes, changes=changes)
    settle_complaints(Kind.COMPANY, request.entry.pk)
    return review


def _supersede(request: _DecisionRequest) -> Review:
    _require_status(request.entry, Status.APPROVED)
    changes = {**_fields_of_decision(request, status=Status.SUPERSEDED), "superseded_by_id": _target(request).pk}
    review = record(request.actor, request.entry, Action.SUPERSEDE, notes=request.notes, changes=changes)
    settle_complaints(Kind.COMPANY, request.entry.pk)
    return review


def _restore(request: _DecisionRequest) -> Review:
    _require_status(request.entry, Status.DEPRECATED, Status.SUPERSEDED)
    require_may_approve(request.actor, request.entry)
    if request.entry.verified_at is None:
        hint = "`reopen` lets it wait for a decision."
        raise Conflict(f"{request.entry.handle} was merged before its own text was approved.", hint=hint)
    _require_despite(request, request.entry)
    changes = {**_fields_of_approval(request.actor, request.entry, notes=request.notes), "superseded_by_id": None}
    return record(request.actor, request.entry, Action.RESTORE, notes=request.notes, changes=changes)


def _reopen(request: _DecisionRequest) -> Review:
    """Put an entry back into the queue, whatever was decided about it."""
    if request.entry.status == Status.PENDING:
        raise Conflict(f"{request.entry.handle} waits for a decision already.")
    changes = {**WAITING, "superseded_by_id": None}
    return record(request.actor, request.entry, Action.REOPEN, notes=request.notes, changes=changes)


def _undo(request: _DecisionRequest) -> Review:
    """Restore every entry that the last decision changed to what it was before."""
    last = request.entry.reviews.order_by("-number").first()
    if last is None or last.before is None:
        raise Conflict("There is no decision to undo.", hint="The proposer can withdraw a proposal.")
    if last.action in {Action.UNDO, Action.PROPOSE, Action.REVISE, Action.WITHDRAW}:
        raise Conflict(
            f"The last thing that happened to {request.entry.handle} is no decision.", hint="Reopen it instead."
        )
    # One decision may have changed several entries (a merge): they share a batch, and are undone together.
    batch, undone = uuid4(), None
    for review in Review.objects.filter(batch=last.batch).order_by("-entry_id"):
        entry = request.entry if review.entry_id == request.entry.pk else entry_to_change(review.entry_id)
        # Undoing over a later change would silently discard that change.
        if entry.revision != review.after["revision"]:
            raise Conflict(f"{entry.handle} has changed since.", hint="Reopen it instead.", entry_id=entry.pk)
        before = fields_before(review)
        # Undoing must not get around the rule against approving your own proposal.
        if before["status"] == Status.APPROVED or {"title", "content"} & review.changed.keys():
            require_may_approve(request.actor, entry)
        written = record(
            request.actor, entry, Action.UNDO, notes=request.notes, changes=before, batch=batch, undoes=review
        )
        reopen_complaints(Kind.COMPANY, entry.pk, since=review.created_at)
        unsettle(entry.pk, since=_time_of_step_before(review))
        undone = written if entry is request.entry else undone
    assert undone is not None, "the decision itself is one of its batch"
    return undone


def _time_of_step_before(review: Review) -> datetime:
    """Return when the step before a decision was made: what was settled since then was settled by the decision."""
    before = Review.objects.filter(entry=review.entry_id, number__lt=review.number).order_by("-number").first()
    return before.created_at if before else review.created_at


_ACTIONS: dict[str, Callable[[_DecisionRequest], Review]] = {
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
    "undo": _undo,
}


def _fields_of_approval(actor: Actor, entry: CompanyEntry, *, notes: str) -> dict[str, Any]:
    """Return the fields that approval sets. Approving also verifies: a curator has read the text and agrees with it."""
    now = timezone.now()
    return {
        "status": Status.APPROVED,
        "decided_by_id": actor.user.pk,
        "decided_at": now,
        "decision_notes": notes,
        "told_at": None,
        "verified_at": now,
        "review_after": entry.review_date_after(now),
    }


def _fields_of_decision(request: _DecisionRequest, *, status: Status) -> dict[str, Any]:
    return {
        "status": status,
        "decided_by_id": request.actor.user.pk,
        "decided_at": timezone.now(),
        "decision_notes": request.notes,
        "told_at": None,
    }


def fields_before(review: Review) -> dict[str, Any]:
    """Return the fields of an entry as they were before a review, as Python values."""
    before = review.before or {}
    restored = {name: before[name] for name in TRACKED if name in before and name != "revision"}
    return {name: _read(name, value) for name, value in restored.items()}


def _read(name: str, value: Any) -> Any:
    """Return a value of a snapshot as the entry holds it; None for a user who was deleted since."""
    field = TRACKED[name]
    if value is None or not isinstance(field, ForeignKey):
        return field.to_python(value)
    return value if field.remote_field.model._default_manager.filter(pk=value).exists() else None


def _require_may_edit(request: _DecisionRequest, entry: CompanyEntry) -> None:
    """Refuse an edit that needs a second person: of the curator's own entry, or of one that needs two approvals."""
    require_may_approve(request.actor, entry)
    if needs_four_eyes(entry, importance=request.edits.get("importance", entry.importance)):
        hint = "Reopen it: then a colleague and you approve the new text."
        raise Conflict(f"{entry.handle} is not changed by one person alone.", hint=hint, entry_id=entry.pk)


def _require_despite(request: _DecisionRequest, entry: CompanyEntry) -> None:
    """Refuse a new text that may contradict approved entries, unless the curator named those in `despite`."""
    edited = copy(entry)
    for name, value in request.edits.items():
        setattr(edited, name, value)
    if entry.is_approved and edited.text == entry.text:
        return
    against = {one.entry: one.contradictions for one in contradicting(edited)}
    if edited.text == entry.text:
        # A curator was shown these beside the proposal, as one cluster: one decision must not pass over the other.
        against = {**_partners_approved(entry), **against}
    numbers = [other.pk for other in against]
    if request.despite.issuperset(numbers):
        settle(entry, numbers)
        return
    named = "; ".join(f"{other.handle} {echo(other.title)} ({why[0]})" for other, why in against.items())
    raise Conflict(
        f"{entry.handle} may contradict what is approved: {named}.",
        hint=f"Decide which one holds: edit, merge or supersede. Where all of them do, say despite={numbers}.",
        entry_id=entry.pk,
        despite=numbers,
        contradicts=[
            {"entry_id": other.pk, "handle": other.handle, "title": other.title, "why": why}
            for other, why in against.items()
        ],
    )


def _partners_approved(entry: CompanyEntry) -> dict[CompanyEntry, list[str]]:
    """Return the approved entries of the pairs that were found for an entry, each with what they may disagree on."""
    pairs = {pair.partner_of(entry.pk): pair for pair in open_pairs([entry.pk])}
    partners = CompanyEntry.objects.approved().filter(pk__in=pairs)
    return {partner: pairs[partner.pk].hints or ["they say nearly the same"] for partner in partners}


def _require_golden_questions(review: Review, losing: Collection[int]) -> None:
    """Refuse a decision that changed what is approved if golden questions lose their items by it."""
    steps = Review.objects.filter(batch=review.batch).select_related("entry")
    changed = [
        step.entry
        for step in steps
        if Status.APPROVED in {step.after["status"], (step.before or {}).get("status")}
        and {"status", "title", "content"} & step.changed.keys()
    ]
    if changed:
        require_golden_questions([entry.pk for entry in changed], [entry.text for entry in changed], losing)


def wait_for_pairs() -> None:
    """Wait until no other transaction locks several entries: two that lock in a different order would deadlock."""
    wait_for_turn(_LOCK, "pairs")


def _target(request: _DecisionRequest) -> CompanyEntry:
    if request.into is None:
        raise Invalid.of("into", "is required: the number of the approved entry that takes its place")
    if request.into == request.entry.pk:
        raise Invalid.of("into", "must be another entry")
    target = entry_to_change(request.into, revision=request.into_revision)
    if not target.is_approved:
        raise Conflict(f"{target.handle} is {target.get_status_display().lower()}, not approved.", entry_id=target.pk)
    return target


def _changes_text(request: _DecisionRequest) -> bool:
    now = snapshot(request.entry)
    return any(request.edits.get(name, now[name]) != now[name] for name in ("title", "content", "triggers"))


def _require_status(entry: CompanyEntry, *allowed: Status) -> None:
    if entry.status in allowed:
        return
    who = f" by {entry.decided_by}" if entry.decided_by and not entry.is_undecided else ""
    wanted = " or ".join(status.label.lower() for status in allowed)
    raise Conflict(
        f"{entry.handle} is already {entry.get_status_display().lower()}{who}.",
        hint=f"This can be done while it is {wanted}. `reopen` lets it wait for a decision again.",
        entry_id=entry.pk,
        status=entry.status,
        revision=entry.revision,
    )


def _require_notes(request: _DecisionRequest, what: str) -> None:
    if not request.notes:
        message = f"{what} needs a reason: the proposer, person and agent, will read it."
        raise Invalid(f"notes is required. {message}", problems=[{"field": "notes", "message": "is required"}])

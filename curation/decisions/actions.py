"""What each decision does to an entry: approve, reject, merge, edit, verify, deprecate, supersede, restore, reopen."""

from collections.abc import Callable
from typing import Any

from bigmind.core.errors import Conflict, Invalid
from curation.decisions.history import WAITING, new_batch, record
from curation.decisions.preconditions import (
    DecisionRequest,
    changes_text,
    fields_of_approval,
    fields_of_decision,
    fields_of_verification,
    find_target,
    require_may_edit,
    require_notes,
    require_status,
)
from curation.decisions.undoing import undo
from curation.decisions.who_may_decide import needs_second_approval, require_may_approve
from curation.models import Action, Review
from knowledge.anchors.grammar import join_anchors
from knowledge.exposures.feedback import settle_complaints
from knowledge.models import Kind, Status


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

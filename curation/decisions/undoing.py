"""Undoing the last decision: every entry that it changed is again what it was before."""

from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db.models import ForeignKey

from bigmind.core.errors import Conflict
from curation.decisions.history import TRACKED, entry_to_change, record
from curation.decisions.overlaps import unsettle
from curation.decisions.who_may_decide import DecisionRequest, require_may_approve
from curation.models import Action, Review
from knowledge.exposures.feedback import reopen_complaints
from knowledge.models import Kind, Status


def undo(request: DecisionRequest) -> Review:
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
        # Contradictions are not asked about: what comes back is what a curator had decided. Decision 28.
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

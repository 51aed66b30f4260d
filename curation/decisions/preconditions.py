"""What a decision about an entry needs first: a status, a reason, and the right to make it."""

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.errors import Conflict, Invalid
from curation.decisions.history import entry_to_change, snapshot
from curation.decisions.who_may_decide import needs_four_eyes, require_may_approve
from knowledge.models import CompanyEntry, Status


@dataclass(frozen=True)
class DecisionRequest:
    """One decision as the curator requests it."""

    actor: Actor
    entry: CompanyEntry
    notes: str
    into: int | None
    into_revision: int | None
    edits: dict[str, Any]


def fields_of_decision(actor: Actor, *, status: Status, notes: str) -> dict[str, Any]:
    """Return the fields that every decision sets besides its own."""
    return {
        "status": status,
        "decided_by_id": actor.user.pk,
        "decided_at": timezone.now(),
        "decision_notes": notes,
        "told_at": None,
    }


def fields_of_verification(entry: CompanyEntry) -> dict[str, Any]:
    """Return the fields that verifying an entry sets: now, and when it is due again."""
    now = timezone.now()
    return {"verified_at": now, "review_after": entry.review_date_after(now)}


def fields_of_approval(actor: Actor, entry: CompanyEntry, *, notes: str) -> dict[str, Any]:
    """Return the fields that approval sets. Approving also verifies: a curator has read the text and agrees with it."""
    return {**fields_of_decision(actor, status=Status.APPROVED, notes=notes), **fields_of_verification(entry)}


def find_target(request: DecisionRequest) -> CompanyEntry:
    """Return the approved entry that takes the place of this one, locked."""
    if request.into is None:
        raise Invalid.of("into", "is required: the number of the approved entry that takes its place")
    if request.into == request.entry.pk:
        raise Invalid.of("into", "must be another entry")
    target = entry_to_change(request.into, revision=request.into_revision)
    if not target.is_approved:
        raise Conflict(f"{target.handle} is {target.get_status_display().lower()}, not approved.", entry_id=target.pk)
    return target


def changes_text(request: DecisionRequest) -> bool:
    """Return whether the edits change what agents receive, or when."""
    now = snapshot(request.entry)
    return any(request.edits.get(name, now[name]) != now[name] for name in ("title", "content", "triggers"))


def require_status(entry: CompanyEntry, *allowed: Status) -> None:
    """Refuse a decision that does not fit the status of the entry."""
    if entry.status in allowed:
        return
    who = f" by {entry.decided_by}" if entry.decided_by and not entry.is_undecided else ""
    expected = " or ".join(status.label.lower() for status in allowed)
    raise Conflict(
        f"{entry.handle} is already {entry.get_status_display().lower()}{who}.",
        hint=f"This can be done while it is {expected}. `reopen` lets it wait for a decision again.",
        entry_id=entry.pk,
        status=entry.status,
        revision=entry.revision,
    )


def require_notes(request: DecisionRequest, what: str) -> None:
    """Refuse a decision without a reason, where someone waits for one."""
    if not request.notes:
        message = f"{what} needs a reason: the proposer, person and agent, will read it."
        raise Invalid(f"notes is required. {message}", problems=[{"field": "notes", "message": "is required"}])


def require_may_edit(request: DecisionRequest, entry: CompanyEntry) -> None:
    """Refuse an edit that needs a second person: of the curator's own entry, or of one that needs two approvals."""
    require_may_approve(request.actor, entry)
    if needs_four_eyes(entry, importance=request.edits.get("importance", entry.importance)):
        hint = "Reopen it: then a colleague and you approve the new text."
        raise Conflict(f"{entry.handle} is not changed by one person alone.", hint=hint, entry_id=entry.pk)

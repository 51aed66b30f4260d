"""What a decision needs first: a status, a reason, and someone who may make it.

Who may, is by mode: the user alone (personal), any curator but the proposer (team), two of them (enterprise).
Who is a curator is a matter of scopes: `accounts/actor.py` says which role has which.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.errors import Conflict, Forbidden, Invalid
from curation.decisions.history import entry_to_change, snapshot
from curation.models import Review
from knowledge.models import CompanyEntry, Status

FOUR_EYES_FROM = 8
"""In enterprise mode, an entry of this importance or more is approved by two people."""


@dataclass(frozen=True)
class DecisionRequest:
    """One decision as the curator requests it."""

    actor: Actor
    entry: CompanyEntry
    notes: str
    into: int | None
    into_revision: int | None
    edits: dict[str, Any]


def is_personal() -> bool:
    """Whether this is personal mode: one user, who decides alone."""
    return bool(settings.BIGMIND_MODE == "personal")


def may_decide(actor: Actor) -> bool:
    """Whether the actor is a curator."""
    return "curate" in actor.scopes


def require_may_approve(actor: Actor, entry: CompanyEntry) -> None:
    """Refuse to let a curator approve their own proposal, except in personal mode.

    Raises:
        Forbidden: it is the actor's own, and this is a team or an enterprise.
    """
    actor.require("curate")
    if is_own(actor, entry):
        raise Forbidden("You proposed this yourself.", hint="Another curator has to approve it.")


def waits_for_others(actor: Actor, entry: CompanyEntry) -> bool:
    """Whether the entry is the actor's own proposal, which another curator has to review."""
    return entry.is_undecided and is_own(actor, entry)


def needs_second_approval(
    actor: Actor, entry: CompanyEntry, *, importance: int, history: Sequence[Review] | None = None
) -> bool:
    """Whether the entry needs the approval of one more person. `history`: its steps, where they were read already."""
    is_first = entry.endorsed_by_id is None or entry.endorsed_by_id == actor.user.pk
    return is_first and needs_four_eyes(entry, importance=importance, history=history)


def needs_four_eyes(entry: CompanyEntry, *, importance: int, history: Sequence[Review] | None = None) -> bool:
    """Whether two people have to agree to this entry with this importance.

    The highest importance that the entry ever had counts, so that lowering it before approval is no way around.
    """
    if settings.BIGMIND_MODE != "enterprise":
        return False
    if importance >= FOUR_EYES_FROM or history is None:
        return importance >= FOUR_EYES_FROM or entry.reviews.filter(after__importance__gte=FOUR_EYES_FROM).exists()
    return any(review.after.get("importance", 0) >= FOUR_EYES_FROM for review in history)


def is_own(actor: Actor, entry: CompanyEntry) -> bool:
    """Whether the actor proposed it, in a mode where others can decide."""
    return not is_personal() and entry.proposed_by_id == actor.user.pk


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

"""What a decision about an entry needs first: a status, a reason, and no contradiction that is not named."""

from copy import copy
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.text import echo
from curation.decisions.history import entry_to_change, snapshot
from curation.decisions.who_may_decide import needs_four_eyes, require_may_approve
from curation.proposals.neighbours import contradicting
from curation.proposals.overlaps import open_pairs, settle
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
    despite: frozenset[int] = frozenset()


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
    """Return whether the edits change what agents are told, or when."""
    now = snapshot(request.entry)
    return any(request.edits.get(name, now[name]) != now[name] for name in ("title", "content", "triggers"))


def require_status(entry: CompanyEntry, *allowed: Status) -> None:
    """Refuse a decision that does not fit the status of the entry."""
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


def require_notes(request: DecisionRequest, what: str) -> None:
    """Refuse a decision without a reason, where somebody waits for one."""
    if not request.notes:
        message = f"{what} needs a reason: the proposer, person and agent, will read it."
        raise Invalid(f"notes is required. {message}", problems=[{"field": "notes", "message": "is required"}])


def require_may_edit(request: DecisionRequest, entry: CompanyEntry) -> None:
    """Refuse an edit that needs a second person: of the curator's own entry, or of one that needs two approvals."""
    require_may_approve(request.actor, entry)
    if needs_four_eyes(entry, importance=request.edits.get("importance", entry.importance)):
        hint = "Reopen it: then a colleague and you approve the new text."
        raise Conflict(f"{entry.handle} is not changed by one person alone.", hint=hint, entry_id=entry.pk)


def require_despite(request: DecisionRequest, entry: CompanyEntry) -> None:
    """Refuse a new text that may contradict approved entries, unless the curator named those in `despite`."""
    # A copy: whether it is refused is decided before the locked entry changes.
    edited = copy(entry)
    for name, value in request.edits.items():
        setattr(edited, name, value)
    if entry.is_approved and edited.text == entry.text:
        return
    if edited.text != entry.text:
        # The revision that it would be: the vectors that were stored of this one are those of the text now.
        edited.revision += 1
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

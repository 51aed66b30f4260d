"""Decisions: what curators do with a proposal, and with what was approved. Each is kept, and can be undone."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from uuid import uuid4

from django.db import transaction
from django.db.models import ForeignKey
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.advisory_locks import wait_for_turn
from bigmind.core.errors import BigMindError, Conflict, Invalid
from bigmind.core.vocabulary import Importance
from curation.decisions.history import TRACKED, WAITING, entry_to_change, record, require_only_text, snapshot
from curation.decisions.rules import needs_four_eyes, needs_second_approval, require_may_approve
from curation.models import Action, Claim, Review
from curation.proposals.neighbours import contradicting
from curation.vocabulary import CompanyEntryId, CompanyText, CompanyTitle, Notes, Revision
from knowledge.models import CompanyEntry, Kind, Status
from knowledge.services.feedback import reopen_complaints, settle_complaints
from knowledge.vocabulary import CompanyCategoryName

BULK = 100
_TURNS = 7706
_ONE_BY_ONE = frozenset({"approve", "edit", "merge", "restore", "supersede", "undo"})
"""Decisions that lock two entries, or that must see what the one before them approved."""

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
    Field(
        max_length=20, description="Approved entries that it may contradict, which shall hold as well: their numbers."
    ),
]
Into = Annotated[CompanyEntryId, Field(description="For merge and supersede: the approved entry that takes its place.")]


@dataclass(frozen=True)
class Decision:
    """The entry after it, and what was recorded."""

    entry: CompanyEntry
    review: Review

    @property
    def status(self) -> str:
        """Where the entry stands now."""
        return self.entry.status


@dataclass
class Decisions:
    """What became of many at once."""

    decided: list[Decision] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class _Deed:
    """One decision as it was asked for."""

    actor: Actor
    entry: CompanyEntry
    notes: str
    into: int | None
    edits: dict[str, Any]
    despite: frozenset[int] = frozenset()


@transaction.atomic
def approve_global(
    actor: Actor,
    *,
    entry_id: CompanyEntryId,
    action: DecisionName,
    notes: Notes = "",
    revision: Revision | None = None,
    into: Into | None = None,
    title: CompanyTitle | None = None,
    content: CompanyText | None = None,
    category: CompanyCategoryName | None = None,
    importance: Importance | None = None,
    despite: Despite | None = None,
) -> Decision:
    """Decide about company knowledge, as a curator: approve, reject, request_changes, merge, deprecate, restore, …

    Call this only when a curator tells you to. With approve, edit and merge, title, content, category and importance
    change it. Rejecting needs notes, which the proposer reads. `undo` takes back the last decision. What may contradict
    approved entries is refused with their numbers, and what was revised without the `revision` that was read: ask the
    curator, then name them. Returns the entry.
    """
    actor.require("curate")
    if action in _ONE_BY_ONE:
        wait_for_pairs()
    entry = entry_to_change(entry_id, revision=revision)
    if action == "approve" and revision is None:
        require_only_text(entry)
    sent = {"title": title, "content": content, "category": category, "importance": importance}
    edits = {name: value for name, value in sent.items() if value is not None}
    review = _DEEDS[action](_Deed(actor, entry, notes.strip(), into, edits, frozenset(despite or ())))
    Claim.objects.filter(entry=entry).delete()
    return Decision(review.entry, review)


def decide_many(
    actor: Actor,
    *,
    entry_ids: Annotated[list[CompanyEntryId], Field(min_length=1, max_length=BULK)],
    action: Literal["approve", "reject", "request_changes", "verify", "deprecate"],
    notes: Notes = "",
    revisions: Annotated[dict[str, int], Field(description="The revision you have read, by id.")] | None = None,
    despite: Despite | None = None,
) -> Decisions:
    """Decide about up to 100 entries alike, as a curator. Each is decided for itself: one refusal stops no other.

    Call this only when a curator tells you to. Returns what was decided, and for each refusal the entry and the reason.
    """
    actor.require("curate")
    done = Decisions()
    wait_for_pairs()
    for entry_id in sorted(set(entry_ids)):
        seen = (revisions or {}).get(str(entry_id))
        try:
            decided = approve_global(
                actor, entry_id=entry_id, action=action, notes=notes, revision=seen, despite=despite
            )
            done.decided.append(decided)
        except BigMindError as refusal:
            done.refused.append({"entry_id": entry_id, "handle": f"C{entry_id}", "reason": str(refusal)})
    return done


def approve_at_once(actor: Actor, entry: CompanyEntry) -> Review:
    """Approve what its proposer alone decides about, in personal mode."""
    return record(actor, entry, Action.APPROVE, changes=_fields_of_approval(actor, entry, notes=""))


def _approve(deed: _Deed) -> Review:
    actor, entry = deed.actor, deed.entry
    _require_status(entry, Status.PENDING, Status.CHANGES_REQUESTED)
    require_may_approve(actor, entry)
    _require_despite(deed, entry)
    importance = deed.edits.get("importance", entry.importance)
    if needs_second_approval(actor, entry, importance=importance):
        if entry.endorsed_by_id == actor.user.pk and not deed.edits:
            raise Conflict(f"You have approved {entry.handle} already.", hint="A second curator has to agree.")
        return record(
            actor, entry, Action.ENDORSE, notes=deed.notes, changes={**deed.edits, "endorsed_by_id": actor.user.pk}
        )
    if deed.edits and entry.endorsed_by_id not in {None, actor.user.pk} and _changes_text(deed):
        # The first of four eyes agreed to another text: the second one becomes the first.
        changes = {**deed.edits, "endorsed_by_id": actor.user.pk}
        return record(actor, entry, Action.ENDORSE, notes=deed.notes, changes=changes)
    changes = {**deed.edits, **_fields_of_approval(actor, entry, notes=deed.notes)}
    return record(actor, entry, Action.APPROVE, notes=deed.notes, changes=changes)


def _reject(deed: _Deed) -> Review:
    _require_status(deed.entry, Status.PENDING, Status.CHANGES_REQUESTED)
    _require_notes(deed, "Rejecting")
    return record(
        deed.actor,
        deed.entry,
        Action.REJECT,
        notes=deed.notes,
        changes=_fields_of_decision(deed, status=Status.REJECTED),
    )


def _request_changes(deed: _Deed) -> Review:
    _require_status(deed.entry, Status.PENDING)
    _require_notes(deed, "Asking for changes")
    changes = {**_fields_of_decision(deed, status=Status.CHANGES_REQUESTED), "endorsed_by_id": None}
    return record(deed.actor, deed.entry, Action.REQUEST_CHANGES, notes=deed.notes, changes=changes)


def _merge(deed: _Deed) -> Review:
    """Let an approved entry say it: what is edited is that entry, and the proposal points to it. Both stay credited."""
    _require_status(deed.entry, Status.PENDING, Status.CHANGES_REQUESTED)
    require_may_approve(deed.actor, deed.entry)
    target, batch = _target(deed), uuid4()
    if deed.edits:
        _require_may_edit(deed, target)
        _require_despite(deed, target)
        changes = {**deed.edits, "verified_at": timezone.now()}
        record(deed.actor, target, Action.EDIT, notes=deed.notes, changes=changes, batch=batch)
    # Without a date of verification: its own text was never approved, so it stays with its proposer and the curators.
    changes = {
        **_fields_of_decision(deed, status=Status.SUPERSEDED),
        "superseded_by_id": target.pk,
        "verified_at": None,
    }
    return record(deed.actor, deed.entry, Action.MERGE, notes=deed.notes, changes=changes, batch=batch)


def _edit(deed: _Deed) -> Review:
    _require_status(deed.entry, Status.APPROVED)
    if not deed.edits:
        raise Invalid.of("action", "edit needs title, content, category or importance")
    _require_may_edit(deed, deed.entry)
    _require_despite(deed, deed.entry)
    now = timezone.now()
    changes = {**deed.edits, "verified_at": now, "review_after": deed.entry.review_date_after(now)}
    review = record(deed.actor, deed.entry, Action.EDIT, notes=deed.notes, changes=changes)
    settle_complaints(Kind.COMPANY, deed.entry.pk)
    return review


def _verify(deed: _Deed) -> Review:
    """Say that it still holds. Complaints are settled by that: somebody has looked."""
    _require_status(deed.entry, Status.APPROVED)
    now = timezone.now()
    changes = {"verified_at": now, "review_after": deed.entry.review_date_after(now)}
    review = record(deed.actor, deed.entry, Action.VERIFY, notes=deed.notes, changes=changes)
    settle_complaints(Kind.COMPANY, deed.entry.pk)
    return review


def _keep(deed: _Deed) -> Review:
    """Leave it as it is although somebody complained, without verifying it."""
    _require_status(deed.entry, Status.APPROVED)
    review = record(deed.actor, deed.entry, Action.KEEP, notes=deed.notes)
    settle_complaints(Kind.COMPANY, deed.entry.pk)
    return review


def _deprecate(deed: _Deed) -> Review:
    _require_status(deed.entry, Status.APPROVED)
    changes = _fields_of_decision(deed, status=Status.DEPRECATED)
    review = record(deed.actor, deed.entry, Action.DEPRECATE, notes=deed.notes, changes=changes)
    settle_complaints(Kind.COMPANY, deed.entry.pk)
    return review


def _supersede(deed: _Deed) -> Review:
    _require_status(deed.entry, Status.APPROVED)
    changes = {**_fields_of_decision(deed, status=Status.SUPERSEDED), "superseded_by_id": _target(deed).pk}
    review = record(deed.actor, deed.entry, Action.SUPERSEDE, notes=deed.notes, changes=changes)
    settle_complaints(Kind.COMPANY, deed.entry.pk)
    return review


def _restore(deed: _Deed) -> Review:
    _require_status(deed.entry, Status.DEPRECATED, Status.SUPERSEDED)
    require_may_approve(deed.actor, deed.entry)
    if deed.entry.verified_at is None:
        hint = "`reopen` lets it wait for a decision."
        raise Conflict(f"{deed.entry.handle} was merged before its own text was approved.", hint=hint)
    _require_despite(deed, deed.entry)
    changes = {**_fields_of_approval(deed.actor, deed.entry, notes=deed.notes), "superseded_by_id": None}
    return record(deed.actor, deed.entry, Action.RESTORE, notes=deed.notes, changes=changes)


def _reopen(deed: _Deed) -> Review:
    """Let it wait for a decision again, whatever was decided."""
    if deed.entry.status == Status.PENDING:
        raise Conflict(f"{deed.entry.handle} waits for a decision already.")
    changes = {**WAITING, "superseded_by_id": None}
    return record(deed.actor, deed.entry, Action.REOPEN, notes=deed.notes, changes=changes)


def _undo(deed: _Deed) -> Review:
    """Bring back exactly what was there before the last decision, of every entry it touched."""
    last = deed.entry.reviews.order_by("-number").first()
    if last is None or last.before is None:
        raise Conflict("There is no decision to undo.", hint="The proposer can withdraw a proposal.")
    if last.action in {Action.UNDO, Action.REVISE, Action.WITHDRAW}:
        raise Conflict(
            f"The last thing that happened to {deed.entry.handle} is no decision.", hint="Reopen it instead."
        )
    batch, undone = uuid4(), None
    for review in Review.objects.filter(batch=last.batch).order_by("-entry_id"):
        entry = deed.entry if review.entry_id == deed.entry.pk else entry_to_change(review.entry_id)
        if entry.revision != review.after["revision"]:
            raise Conflict(f"{entry.handle} has changed since.", hint="Reopen it instead.", entry_id=entry.pk)
        before = _as_before(review)
        # What one may not approve by oneself, one does not bring back by oneself either.
        if before["status"] == Status.APPROVED or {"title", "content"} & review.changed.keys():
            require_may_approve(deed.actor, entry)
        written = record(deed.actor, entry, Action.UNDO, notes=deed.notes, changes=before, batch=batch, undoes=review)
        reopen_complaints(Kind.COMPANY, entry.pk, since=review.created_at)
        undone = written if entry is deed.entry else undone
    assert undone is not None, "the decision itself is one of its batch"
    return undone


_DEEDS: dict[str, Callable[[_Deed], Review]] = {
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
    """To approve is to verify: somebody has looked, and says that it holds."""
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


def _fields_of_decision(deed: _Deed, *, status: Status) -> dict[str, Any]:
    return {
        "status": status,
        "decided_by_id": deed.actor.user.pk,
        "decided_at": timezone.now(),
        "decision_notes": deed.notes,
        "told_at": None,
    }


def _as_before(review: Review) -> dict[str, Any]:
    """The fields of an entry as a review found them."""
    before = review.before or {}
    restored = {name: before[name] for name in TRACKED if name in before and name != "revision"}
    return {name: _read(name, value) for name, value in restored.items()}


def _read(name: str, value: Any) -> Any:
    """Return a value of a snapshot as the entry holds it. Somebody it names may be gone since."""
    field = TRACKED[name]
    if value is None or not isinstance(field, ForeignKey):
        return field.to_python(value)
    return value if field.remote_field.model._default_manager.filter(pk=value).exists() else None


def _require_may_edit(deed: _Deed, entry: CompanyEntry) -> None:
    """Refuse to change alone what others have to agree to: one's own entry, and what needs four eyes."""
    require_may_approve(deed.actor, entry)
    if needs_four_eyes(entry, importance=deed.edits.get("importance", entry.importance)):
        hint = "Reopen it: then a colleague and you approve the new text."
        raise Conflict(f"{entry.handle} is not changed by one person alone.", hint=hint, entry_id=entry.pk)


def _require_despite(deed: _Deed, entry: CompanyEntry) -> None:
    """Refuse to let a new text hold beside approved ones that it may contradict, unless the curator named those."""
    said = copy(entry)
    for name, value in deed.edits.items():
        setattr(said, name, value)
    if entry.is_approved and said.text == entry.text:
        return
    against = contradicting(deed.actor, said)
    if all(one.entry.pk in deed.despite for one in against):
        return
    named = "; ".join(f"{one.entry.handle} “{one.entry.title}” ({one.contradictions[0]})" for one in against)
    numbers = [one.entry.pk for one in against]
    raise Conflict(
        f"{entry.handle} may contradict what is approved: {named}.",
        hint=f"Decide which one holds: edit, merge or supersede. Where all of them do, say despite={numbers}.",
        entry_id=entry.pk,
        despite=numbers,
        contradicts=[
            {"entry_id": one.entry.pk, "handle": one.entry.handle, "title": one.entry.title, "why": one.contradictions}
            for one in against
        ],
    )


def wait_for_pairs() -> None:
    """Let decisions that lock more than one entry follow each other: two could wait for each other's for ever."""
    wait_for_turn(_TURNS, "pairs")


def _target(deed: _Deed) -> CompanyEntry:
    if deed.into is None:
        raise Invalid.of("into", "is required: the number of the approved entry that takes its place")
    if deed.into == deed.entry.pk:
        raise Invalid.of("into", "must be another entry")
    target = entry_to_change(deed.into)
    if not target.is_approved:
        raise Conflict(f"{target.handle} is {target.get_status_display().lower()}, not approved.", entry_id=target.pk)
    return target


def _changes_text(deed: _Deed) -> bool:
    now = snapshot(deed.entry)
    return any(deed.edits.get(name, now[name]) != now[name] for name in ("title", "content"))


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


def _require_notes(deed: _Deed, what: str) -> None:
    if not deed.notes:
        message = f"{what} needs a reason: the proposer, person and agent, will read it."
        raise Invalid(f"notes is required. {message}", problems=[{"field": "notes", "message": "is required"}])

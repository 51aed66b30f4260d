"""History: every change of a company entry goes through `record`, which writes the entry and its review together."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import OuterRef, Subquery

from accounts.actor import Actor
from bigmind.core.background import after_commit
from bigmind.core.errors import Conflict, NotFound
from bigmind.database.columns import ColumnCopy
from bigmind.text.hygiene import digest, mention
from curation.decisions.screening import suspicions_about
from curation.models import Action, Comparison, Review
from curation.notifications.notices import tell_of_review
from knowledge.kb.company import index_company_entry
from knowledge.models import CompanyEntry, Kind, Status
from knowledge.search.passages import note_writings

SNAPSHOT = ColumnCopy(
    "the snapshots of reviews",
    CompanyEntry,
    {
        "id": "A review points to its entry.",
        "digest": "It follows from the content: `record` computes it again.",
        "warnings": "They follow from the text: `record` screens it again.",
        "signs": "They follow from the text.",
        "proposed_by": "It never changes.",
        "agent": "It never changes.",
        "source_session": "It never changes.",
        "source_kind": "It never changes.",
        "source_id": "It never changes.",
        "origin": "It never changes.",
        "told_at": "It is about the proposer, who is notified of an undo as well.",
        "is_copy": "It never changes, and copies have no history.",
        "anchor_checks": "They say what the code was at a commit, whatever the entry says since.",
        "created_at": "It never changes.",
        "updated_at": "It is when the entry was changed last, also by undoing.",
    },
)
TRACKED = SNAPSHOT.fields()
"""The fields of an entry that each review records, and that undoing it restores."""


WAITING: dict[str, Any] = {
    "status": Status.PENDING,
    "endorsed_by_id": None,
    "decided_by_id": None,
    "decided_at": None,
    "decision_notes": "",
}
"""The fields that put an entry back into the queue. An earlier first approval was for another text and is dropped."""

_batch: ContextVar[UUID | None] = ContextVar("batch", default=None)
_COMPARED = ("revision", "status", "title", "content")
"""The fields in which an entry must equal the last row of its history."""
_TEXTS = ("title", "content", "evidence")
"""What the digest, the warnings and the signs of an entry follow from."""


@dataclass(frozen=True)
class BrokenSeal:
    """A place where the history of an entry was altered after it was written."""

    entry_id: int
    number: int
    why: str


def entry_to_change(entry_id: int, *, revision: int | None = None) -> CompanyEntry:
    """Return an entry, locked until the transaction ends.

    Raises:
        NotFound: there is none.
        Conflict: it is not at this revision any more (the details say what changed), or it is decided elsewhere.
    """
    # Lock only the entry: locking the users it points to would block their own requests meanwhile.
    entries = CompanyEntry.objects.select_for_update(of=("self",)).select_related("comparison")
    entry = entries.filter(pk=entry_id).first()
    if entry is None:
        raise no_such_entry(entry_id)
    require_own(entry)
    if revision is not None and revision != entry.revision:
        raise _stale_revision(entry, revision)
    return entry


def require_own(entry: CompanyEntry) -> None:
    """Refuse to change a copy from the company server: the next synchronization would overwrite the change.

    Raises:
        Conflict: it comes from the company server.
    """
    if entry.is_copy:
        hint = f"It is decided about there: {entry.copy.address}"
        raise Conflict(f"{entry.handle} comes from {entry.comes_from}, as {entry.copy.handle}.", hint=hint)


def no_such_entry(entry_id: int) -> NotFound:
    """Return the error for a missing entry: also for users who may not read it, so that they cannot probe for it."""
    return NotFound(f"There is no company entry C{entry_id}.", hint="memory_list_global shows those there are.")


@transaction.atomic
def record(
    actor: Actor,
    entry: CompanyEntry,
    action: Action,
    *,
    notes: str = "",
    changes: dict[str, Any] | None = None,
    batch: UUID | None = None,
    undoes: Review | None = None,
) -> Review:
    """Change a locked entry, record who did it and why, reindex it, and notify the people concerned.

    Every change of an entry that is not a copy goes through here: the entry and its sealed review are written in one
    transaction, so that neither exists without the other. Returns the review.

    Raises:
        Conflict: another approved entry, or another proposal of the same person, says exactly the same.
    """
    is_new = entry.pk is None
    before = None if is_new else snapshot(entry)
    changes = {**(changes or {}), "revision": 1 if is_new else entry.revision + 1}
    for name, value in changes.items():
        setattr(entry, name, value)
    if is_new or not changes.keys().isdisjoint(_TEXTS):
        derive_from_text(entry)
        _save(entry)
    else:
        _save(entry, update_fields=[*changes, "updated_at"])
    index_company_entry(entry, was_approved=before is not None and before["status"] == Status.APPROVED)
    last = None if is_new else entry.reviews.only("entry", "number", "seal").order_by("-number").first()
    review = make_review(actor, entry, action, last=last, before=before, notes=notes, batch=batch, undoes=undoes)
    review.save(force_insert=True)
    note_writings(Kind.COMPANY, [entry.pk], made=False)
    if entry.is_undecided:
        after_commit("curation.tasks.compare_proposals")
    elif before and before["title"] == entry.title and before["content"] == entry.content:
        # What was read with the entry, and is of this text, still serves this decision.
        _keep_comparison(entry)
    tell_of_review(review)
    return review


def _keep_comparison(entry: CompanyEntry) -> None:
    known: Comparison | None = getattr(entry, "comparison", None)
    if known and known.revision == entry.revision - 1:
        known.revision = entry.revision


def derive_from_text(entry: CompanyEntry) -> None:
    """Set what follows from the text. It is in no snapshot: an undo has it made of the text that it brings back."""
    entry.digest = digest(entry.content)
    entry.warnings = list(dict.fromkeys(found.kind for found in suspicions_about(entry) if found.is_warning))


def make_review(
    actor: Actor,
    entry: CompanyEntry,
    action: Action,
    *,
    last: Review | None,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None = None,
    notes: str = "",
    batch: UUID | None = None,
    undoes: Review | None = None,
) -> Review:
    """Return the sealed review that follows the last one of an entry, not yet stored.

    Args:
        before: The snapshot before the action; None for a new entry.
        after: The snapshot after it. Default: of the entry as it is.
    """
    review = Review(
        entry=entry,
        number=last.number + 1 if last else 1,
        action=action,
        by=actor.user,
        by_id_kept=actor.user.pk,
        by_name=str(actor.user),
        agent_name=str(actor.agent or ""),
        notes=notes,
        before=before,
        after=after or snapshot(entry),
        undoes=undoes,
        batch=batch or new_batch(),
    )
    # The seal covers every field above, so it is set last, and no field is changed again.
    review.seal = review.seal_after(last.seal if last else "")
    return review


def new_batch() -> UUID:
    """Return what marks the steps of one decision: those of one batch are undone together."""
    return _batch.get() or uuid4()


@contextmanager
def one_batch() -> Iterator[None]:
    """Let all decisions inside this block be one, which is undone as a whole."""
    token = _batch.set(uuid4())
    try:
        yield
    finally:
        _batch.reset(token)


def snapshot(entry: CompanyEntry) -> dict[str, Any]:
    """Return the tracked fields of an entry as JSON values."""
    fields = {name: getattr(entry, name) for name in TRACKED}
    return {
        name: value.isoformat() if hasattr(value, "isoformat") else str(value) if isinstance(value, UUID) else value
        for name, value in fields.items()
    }


def find_broken_seals() -> Iterator[BrokenSeal]:
    """Yield every row of the history that was altered, and every place where one is missing.

    Each seal covers its row and the seal before it, so changing or removing a row breaks the chain there. The last row
    has no successor: it is compared with the entry itself.
    """
    rows = Review.objects.order_by("entry_id", "number").iterator(chunk_size=500)
    for entry_id, reviews in groupby(rows, key=lambda review: review.entry_id):
        previous: Review | None = None
        for review in reviews:
            if review.number != (previous.number if previous else 0) + 1:
                yield BrokenSeal(entry_id, review.number, "a row before it is missing")
            elif review.seal != review.seal_after(previous.seal if previous else ""):
                yield BrokenSeal(entry_id, review.number, "it is not what was written")
            previous = review
    # Entry and last row in one statement: what is decided meanwhile is in both of them or in neither.
    last = Review.objects.filter(entry=OuterRef("pk")).order_by("-number")
    ends = {"last_number": Subquery(last.values("number")[:1]), "last_after": Subquery(last.values("after")[:1])}
    entries = CompanyEntry.objects.own().annotate(**ends).order_by("pk")
    for entry_id, number, after, *now in entries.values_list("pk", *ends, *_COMPARED).iterator():
        if number is None:
            yield BrokenSeal(entry_id, 0, "there is no history")
        elif now != [after[name] for name in _COMPARED]:
            yield BrokenSeal(entry_id, number, "a row after it is missing, or the entry was changed past it")


def _save(entry: CompanyEntry, *, update_fields: list[str] | None = None) -> None:
    try:
        # A savepoint: after a failed statement PostgreSQL refuses the queries below until it is rolled back.
        with transaction.atomic():
            entry.save(update_fields=update_fields)
    except IntegrityError as error:
        same = CompanyEntry.objects.filter(digest=entry.digest).exclude(pk=entry.pk)
        known = same.approved().first() or same.undecided().filter(proposed_by=entry.proposed_by_id).first()
        if known is None:
            raise
        holder = "An approved entry" if known.is_approved else "Another proposal of the same person"
        hint = f"See {known.handle}: merge into it, or say something else."
        raise Conflict(f"{holder} says exactly the same.", hint=hint, entry_id=known.pk) from error


def _stale_revision(entry: CompanyEntry, revision: int) -> Conflict:
    later = list(entry.reviews.filter(after__revision__gt=revision).order_by("number"))
    changed = {name: value for review in later for name, value in review.after.items() if name in review.changed}
    steps = (
        "; ".join(f"{review.get_action_display().lower()} by {mention(review.by_name)}" for review in later)
        or "changed"
    )
    return Conflict(
        f"{entry.handle} has changed since you read it: {steps}.",
        hint=f"Read it again; it is at revision {entry.revision}, {entry.get_status_display().lower()}.",
        entry_id=entry.pk,
        revision=entry.revision,
        status=entry.status,
        changed=changed,
    )

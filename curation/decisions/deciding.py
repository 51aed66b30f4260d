"""Decisions of curators about proposals and approved entries. Each is recorded, and can be undone."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from django.db import transaction
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.argument_types import Importance, RowId
from bigmind.core.errors import BigMindError, Conflict
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.text.hygiene import echo
from curation.argument_types import CompanyEntryId, CompanyText, CompanyTitle, Notes, Revision
from curation.decisions.actions import ACTIONS
from curation.decisions.golden_questions import require_golden_questions
from curation.decisions.history import entry_to_change, record
from curation.decisions.overlaps import note_contradictions
from curation.decisions.preconditions import DecisionRequest, fields_of_approval
from curation.decisions.who_may_decide import is_personal
from curation.models import Action, Claim, Review
from knowledge.anchors.grammar import Anchors
from knowledge.argument_types import CompanyCategoryName, Triggers
from knowledge.models import CompanyEntry, Status

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
        """The status of the entry now."""
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

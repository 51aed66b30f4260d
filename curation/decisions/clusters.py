"""Clusters: proposals that repeat or contradict each other, decided at once. One of them holds, or all of them do."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from django.db import transaction

from accounts.actor import Actor
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.text.hygiene import echo
from curation.decisions.deciding import Decision, approve_global, wait_for_pairs
from curation.decisions.history import entry_to_change, one_batch
from curation.decisions.overlaps import open_pairs, settle
from curation.models import Overlap
from knowledge.models import CompanyEntry

MOST_TOGETHER = 8
"""More texts than this are not compared at a glance. What is left over stays in the queue."""
ROUNDS = 3

Fate = Literal["merge", "reject", "keep"]
"""What becomes of the others when one holds: its author is credited, it is rejected, or it waits on beside it."""


@dataclass(frozen=True)
class ProposalCluster:
    """Entries that belong together, those that are approved first, and the pairs that connect them."""

    entries: Sequence[CompanyEntry]
    pairs: Sequence[Overlap]

    @property
    def disagrees(self) -> bool:
        """Whether two of them may contradict each other."""
        return any(pair.hints for pair in self.pairs)


@dataclass(frozen=True)
class Remaining:
    """One of the others: the revision that was read, and what becomes of it."""

    entry_id: int
    revision: int
    fate: Fate


def cluster_of(actor: Actor, *, entry_id: int) -> ProposalCluster:
    """Return what belongs together with an entry: what overlaps with it, what overlaps with that, up to eight.

    Raises:
        NotFound: nothing that waits overlaps with it.
    """
    actor.require("curate")
    found, pairs = [entry_id], list[Overlap]()
    for _ in range(ROUNDS):
        pairs = list(open_pairs(found).order_by("-similarity", "pk"))
        numbers = [number for pair in pairs for number in (pair.entry_id, pair.other_id)]
        wider = list(dict.fromkeys([*found, *numbers]))[:MOST_TOGETHER]
        if wider == found:
            break
        found = wider
    rows = CompanyEntry.objects.filter(pk__in=found).select_related("proposed_by", "agent", "owner")
    entries = sorted(rows, key=lambda entry: (not entry.is_approved, entry.created_at, entry.pk))
    if len(entries) < 2:
        raise NotFound(f"C{entry_id} repeats or contradicts nothing that waits.")
    return ProposalCluster(entries, [pair for pair in pairs if {pair.entry_id, pair.other_id} <= set(found)])


@transaction.atomic
def decide_cluster(
    actor: Actor,
    *,
    holds: int,
    revision: int,
    others: Sequence[Remaining],
    notes: str = "",
    losing: Collection[int] = (),
) -> Decision:
    """Keep one of a cluster, and settle the others with it, all or nothing; undo reverts all.

    The one that is kept is approved, unless it is already. Each of the others is merged into it, rejected with a reason
    that its proposer reads, or stays pending.

    Raises:
        Conflict: one of them changed since it was read or was decided.
        Forbidden: the one that holds, or one to be merged, is the actor's own proposal.
    """
    actor.require("curate")
    wait_for_pairs()
    # Locked in the order of their numbers, as everywhere.
    for number, seen in sorted([(holds, revision), *((other.entry_id, other.revision) for other in others)]):
        entry_to_change(number, revision=seen)
    kept = [other.entry_id for other in others if other.fate == "keep"]
    entry = CompanyEntry.objects.get(pk=holds)
    settle(entry, kept)
    with one_batch():
        # Rejected ones go first, so that none of them blocks the one that is kept; merges last, into what is approved.
        decisions = [_reject(actor, entry, other, notes) for other in others if other.fate == "reject"]
        if not entry.is_approved:
            decisions.append(_approve(actor, entry, revision, notes=notes, despite=kept, losing=list(losing)))
        decisions += [_merge(actor, approved_id=holds, other=other) for other in others if other.fate == "merge"]
    if not decisions:
        hint = "To keep all of them, say that they all hold."
        raise Invalid.of("fate", "leaves everything as it is: merge or reject one of the others", hint=hint)
    return decisions[-1]


@transaction.atomic
def keep_all(actor: Actor, *, entry_ids: Collection[int]) -> int:
    """Keep all of these entries, so that they are no longer shown as one cluster; return how many pairs.

    This approves nothing: each of them waits for its own decision.
    """
    actor.require("curate")
    pairs = [pair for pair in open_pairs(entry_ids) if {pair.entry_id, pair.other_id} <= set(entry_ids)]
    by_entry: Mapping[int, CompanyEntry] = CompanyEntry.objects.in_bulk([pair.entry_id for pair in pairs])
    for pair in pairs:
        settle(by_entry[pair.entry_id], [pair.other_id])
    return len(pairs)


def _approve(
    actor: Actor, entry: CompanyEntry, revision: int, *, notes: str, despite: list[int], losing: list[int]
) -> Decision:
    approved = approve_global(
        actor,
        entry_id=entry.pk,
        action="approve",
        revision=revision,
        notes=notes,
        despite=despite,
        losing=losing,
    )
    if not approved.entry.is_approved:
        # It takes back the first approval, too: a cluster is decided as a whole or not at all.
        raise Conflict(
            f"{entry.handle} needs the approval of two curators.",
            hint="Approve it by itself first. When a colleague has agreed, decide about the others.",
            entry_id=entry.pk,
        )
    return approved


def _reject(actor: Actor, holds: CompanyEntry, other: Remaining, notes: str) -> Decision:
    reason = notes or f"{echo(holds.title)} ({holds.handle}) holds instead."
    return approve_global(actor, entry_id=other.entry_id, action="reject", revision=other.revision, notes=reason)


def _merge(actor: Actor, *, approved_id: int, other: Remaining) -> Decision:
    return approve_global(actor, entry_id=other.entry_id, action="merge", revision=other.revision, into=approved_id)

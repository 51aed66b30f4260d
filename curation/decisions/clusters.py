"""Clusters: entries that repeat or contradict each other, decided at once. One of them holds, or all of them do."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction

from accounts.actor import Actor
from bigmind.core.errors import Conflict, NotFound
from bigmind.text.hygiene import echo
from curation.decisions.deciding import Decision, DecisionName, approve_global, wait_for_pairs
from curation.decisions.history import entry_to_change, one_batch
from curation.decisions.overlaps import open_pairs, settle
from curation.decisions.who_may_decide import waits_for_others
from curation.models import Overlap
from knowledge.models import CompanyEntry

MOST_TOGETHER = 8
"""More texts than this are not compared at a glance. What is left over stays in the queue."""
ROUNDS = 3


@dataclass(frozen=True)
class ProposalCluster:
    """Entries that belong together, those that are approved first, and the pairs that connect them."""

    entries: Sequence[CompanyEntry]
    pairs: Sequence[Overlap]

    @property
    def disagrees(self) -> bool:
        """Whether two of them may contradict each other."""
        return any(pair.hints for pair in self.pairs)


def cluster_of(actor: Actor, *, entry_id: int) -> ProposalCluster:
    """Return what belongs together with an entry: what overlaps with it, what overlaps with that, up to eight.

    Raises:
        NotFound: nothing overlaps with it.
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
        raise NotFound(f"C{entry_id} repeats or contradicts nothing that waits or is approved.")
    return ProposalCluster(entries, [pair for pair in pairs if {pair.entry_id, pair.other_id} <= set(found)])


@transaction.atomic
def decide_cluster(
    actor: Actor, *, holds: int, revisions: Mapping[int, int], notes: str = "", losing: Collection[int] = ()
) -> Decision:
    """Keep one of a cluster, and settle with it what repeats or contradicts it, all or nothing; undo reverts all.

    The one that is kept is approved, unless it is already. Of the others, an approved one is replaced by it, a proposal
    that says the same is merged into it, and one that contradicts it is rejected with a reason that its proposer reads.
    What has nothing to do with the one that is kept waits on.

    Args:
        revisions: The revision that was read of each entry that is decided here, by its number.

    Raises:
        Conflict: one of them changed since it was read or was decided.
        Forbidden: the one that holds is the actor's own proposal.
    """
    actor.require("curate")
    wait_for_pairs()
    # Locked in the order of their numbers, as everywhere.
    entries = {number: entry_to_change(number, revision=seen) for number, seen in sorted(revisions.items())}
    entry = entries.get(holds) or CompanyEntry.objects.get(pk=holds)
    pairs = [pair for pair in open_pairs([holds]) if pair.partner_of(holds) in entries]
    others = {pair.partner_of(holds): pair for pair in pairs}
    rejected, taken_in = list[CompanyEntry](), list[tuple[CompanyEntry, DecisionName]]()
    for number, pair in sorted(others.items()):
        other = entries[number]
        if other.is_approved:
            taken_in.append((other, "supersede"))
        elif pair.hints or entry.is_copy or waits_for_others(actor, other):
            # To merge one's own proposal would be to approve it, and a copy takes nothing in.
            rejected.append(other)
        else:
            taken_in.append((other, "merge"))
    decide = partial(approve_global, actor, losing=list(losing))
    with one_batch():
        # Rejected ones go first, so that none of them blocks the one that is kept; then into what is approved.
        reason = notes or f"{echo(entry.title)} ({entry.handle}) holds instead."
        decisions = [decide(entry_id=one.pk, action="reject", revision=one.revision, notes=reason) for one in rejected]
        if not entry.is_approved:
            decisions.append(_approve(decide, entry, notes=notes))
        decisions += [
            decide(entry_id=one.pk, action=action, revision=one.revision, into=holds, notes=notes)
            for one, action in taken_in
        ]
    if not decisions:
        raise Conflict(f"{entry.handle} repeats or contradicts none of the others any more.", hint="Read them again.")
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


def _approve(decide: Callable[..., Decision], entry: CompanyEntry, *, notes: str) -> Decision:
    approved = decide(entry_id=entry.pk, action="approve", revision=entry.revision, notes=notes)
    if not approved.entry.is_approved:
        # It takes back the first approval, too: a cluster is decided as a whole or not at all.
        raise Conflict(
            f"{entry.handle} needs the approval of two curators.",
            hint="Approve it by itself first. When a colleague has agreed, decide about the others.",
            entry_id=entry.pk,
        )
    return approved

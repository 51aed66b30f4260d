"""Pairs that repeat or contradict each other, approved or proposed, and approved entries that hardly anyone uses.

They go into the curators' queue like everything to be decided: nothing is merged or deprecated automatically.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet
from django.utils import timezone

from curation.models import Comparison, Overlap
from knowledge.exposures.uncited_entries import list_uncited
from knowledge.models import UNDECIDED, CompanyEntry, Status
from knowledge.models.company import CompanyEntryQuerySet

from .neighbours import Neighbour, contradicting, neighbours_of

SAME_FROM = 0.9
"""The similarity, by meaning or by words, from which two entries say nearly the same."""
COMPARED = 2_000
"""Up to this many approved entries are all compared each day; beyond, only those changed since the day before."""
CHANGED_WITHIN = timedelta(hours=36)
"""More than the day between two runs, so that one that comes late leaves nothing out."""
MOST_COMPARED = 200
"""How many proposals are compared in one go; the next sweep continues."""
AGAIN_BY_MEANING = timedelta(minutes=10)
"""After how long a comparison by words alone, without an embedder, is repeated."""
UNUSED_AGAIN = timedelta(days=90)
"""After how long a kept entry that hardly anyone uses is queued again."""


def find_overlaps() -> int:
    """Compare approved entries with each other, and note the pairs that overlap; return how many entries wait."""
    entries = CompanyEntry.objects.own().approved()
    if entries.count() > COMPARED:
        entries = entries.filter(updated_at__gte=timezone.now() - CHANGED_WITHIN)
    for entry in entries.order_by("pk").iterator(chunk_size=200):
        compare(entry)
    return list_overlapping().count()


def list_overlapping() -> CompanyEntryQuerySet:
    """Return the approved entries that overlap with another approved one in a way that no curator has settled."""
    pairs = open_pairs().filter(entry=OuterRef("pk"), other__status=Status.APPROVED)
    return CompanyEntry.objects.own().approved().filter(Exists(pairs))


def list_unused(now: datetime | None = None) -> CompanyEntryQuerySet:
    """Return the approved entries that many sessions received and hardly any found helpful, unless verified lately."""
    lately = (now or timezone.now()) - UNUSED_AGAIN
    entries = CompanyEntry.objects.own().approved().filter(pk__in=list_uncited())
    return entries.filter(Q(verified_at=None) | Q(verified_at__lt=lately))


def unsettle(entry_id: int, *, since: datetime) -> None:
    """Open the pairs of an entry again that were settled since a moment: that decision was undone."""
    settled = Overlap.objects.filter(Q(entry=entry_id) | Q(other=entry_id), settled_at__gt=since)
    settled.update(settled_at=None)


def settle(entry: CompanyEntry, others: Iterable[int]) -> None:
    """Note that a curator keeps an entry beside others on purpose, so that the pairs are not found again."""
    now = timezone.now()
    # One row for a pair, whichever of the two is at hand: the higher number is the entry.
    Overlap.objects.bulk_create(
        [Overlap(entry_id=max(entry.pk, pk), other_id=min(entry.pk, pk), settled_at=now) for pk in sorted(others)],
        update_conflicts=True,
        unique_fields=["entry", "other"],
        update_fields=["settled_at"],
    )


def note_contradictions(
    entry: CompanyEntry, despite: Collection[int] = (), *, is_new_text: bool = False
) -> dict[CompanyEntry, list[str]]:
    """Let the queue show which approved entries one that was just approved may contradict; return them, with why.

    Args:
        despite: Those that a curator keeps beside it on purpose.
        is_new_text: Whether its text was edited since it was compared: then only what contradicts the new text counts.
    """
    if despite:
        settle(entry, CompanyEntry.objects.filter(pk__in=despite).exclude(pk=entry.pk).values_list("pk", flat=True))
    open_now = Overlap.objects.filter(Q(entry=entry) | Q(other=entry), settled_at=None)
    if is_new_text:
        open_now.delete()
    _keep_pairs(entry, [one for one in contradicting(entry) if one.entry.pk not in despite])
    titles = [f"{side}__{name}" for side in ("entry", "other") for name in ("title", "status")]
    pairs = list(open_now.exclude(hints=[]).select_related("entry", "other").only("hints", *titles))
    partners = [pair.entry if pair.other_id == entry.pk else pair.other for pair in pairs]
    found = [(pair, partner) for pair, partner in zip(pairs, partners, strict=True) if partner.is_approved]
    if found:
        # They are younger than the approval, which would settle them otherwise.
        Overlap.objects.filter(pk__in=[pair.pk for pair, _ in found]).update(found_at=timezone.now())
    return {partner: pair.hints for pair, partner in found}


def compare_proposals(most: int = MOST_COMPARED) -> int:
    """Compare the proposals that are new or were revised with the others and with what is approved; return how many.

    Workers call this after each proposal, and as a sweep. The pairs that it finds are shown in the queue.
    """
    lately = timezone.now() - AGAIN_BY_MEANING
    waiting = CompanyEntry.objects.own().undecided()
    done = Comparison.objects.filter(entry=OuterRef("pk"), revision=OuterRef("revision"))
    compared = done.filter(Q(compared_at__gte=lately) | ~Q(vector=None))
    entries = list(waiting.filter(~Exists(compared)).order_by("pk")[:most])
    Comparison.objects.exclude(entry__status__in=UNDECIDED).delete()  # Decided ones are compared as passages.
    for entry in entries:
        compare(entry)
    return len(entries)


def compare(entry: CompanyEntry) -> None:
    """Note which entries one overlaps now; pairs that still do keep the time when they were found."""
    near = neighbours_of(entry)
    if entry.is_undecided:
        near.compared.compared_at = timezone.now()
        near.compared.save()
    pairs = [one for one in [*near.approved, *near.waiting] if _is_pair(entry, one)]
    found = {one.entry.pk for one in pairs}
    known: QuerySet[Overlap] = Overlap.objects.filter(Q(entry=entry) | Q(other=entry))
    # A settled pair stays, so that it is not asked about again when it is found once more.
    known.filter(settled_at=None).exclude(Q(entry__in=found) | Q(other__in=found)).delete()
    _keep_pairs(entry, pairs)


def _keep_pairs(entry: CompanyEntry, pairs: Iterable[Neighbour]) -> None:
    Overlap.objects.bulk_create(
        [
            Overlap(
                entry_id=max(entry.pk, one.entry.pk),
                other_id=min(entry.pk, one.entry.pk),
                hints=one.contradictions,
                similarity=one.similarity,
            )
            for one in sorted(pairs, key=lambda one: one.entry.pk)
        ],
        update_conflicts=True,
        unique_fields=["entry", "other"],
        update_fields=["hints", "similarity"],
    )


def _is_pair(entry: CompanyEntry, one: Neighbour) -> bool:
    if entry.is_approved and one.entry.is_approved:
        return bool(one.contradictions) or (one.says_same and one.similarity >= SAME_FROM)
    return one.is_pair


def with_relations(entries: CompanyEntryQuerySet) -> CompanyEntryQuerySet:
    """Add to each entry whether it contradicts (`is_disputed`) or repeats (`is_repeated`) another one that waits."""
    pairs = open_pairs()
    return entries.annotate(is_repeated=_has(pairs.filter(hints=[])), is_disputed=_has(pairs.exclude(hints=[])))


def _has(pairs: QuerySet[Overlap]) -> "ExpressionWrapper[Any]":
    # Each side by its own index: with OR inside, PostgreSQL would read all pairs for each entry.
    either = Exists(pairs.filter(entry=OuterRef("pk"))) | Exists(pairs.filter(other=OuterRef("pk")))
    return ExpressionWrapper(either, output_field=BooleanField())


def open_pairs(entry_ids: Collection[int] | None = None) -> QuerySet[Overlap]:
    """Return the pairs of entries that wait or are approved, and that nobody settled.

    Two approved ones are settled also when the later one was verified since they were found.

    Args:
        entry_ids: Only the pairs of these entries.
    """
    live = (*UNDECIDED, Status.APPROVED)
    pairs = Overlap.objects.filter(settled_at=None, entry__status__in=live, other__status__in=live)
    waits = Q(entry__status__in=UNDECIDED) | Q(other__status__in=UNDECIDED)
    pairs = pairs.filter(waits | ~Q(found_at__lte=F("entry__verified_at")))
    return pairs if entry_ids is None else pairs.filter(Q(entry__in=entry_ids) | Q(other__in=entry_ids))

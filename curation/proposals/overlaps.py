"""Tidying company knowledge: approved entries that repeat or contradict each other, and those that nobody ever used.

Both go into the curators' queue like everything else that is to be decided: nothing is merged or deprecated by itself.
"""

from collections.abc import Iterable
from datetime import timedelta

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from curation.models import Overlap
from curation.services.golden_questions import ANYBODY
from knowledge.models import CompanyEntry
from knowledge.models.company import CompanyEntryQuerySet
from knowledge.services.exposures import list_uncited

from .neighbours import neighbours_of

SAME_FROM = 0.92
"""From which similarity on, by meaning or by words, two entries say nearly the same."""
COMPARED = 2_000
"""Up to so many approved entries are all compared each day; of more, those that changed since the day before."""
CHANGED_WITHIN = timedelta(hours=36)
UNUSED_AGAIN = timedelta(days=90)
"""A curator who keeps an entry that nobody used is asked about it again after so long."""


def find_overlaps() -> int:
    """Compare approved entries with each other, and note the pairs that overlap; return how many entries wait."""
    entries = CompanyEntry.objects.own().approved()
    if entries.count() > COMPARED:
        entries = entries.filter(updated_at__gte=timezone.now() - CHANGED_WITHIN)
    for entry in entries.order_by("pk").iterator(chunk_size=200):
        _compare(entry)
    return list_overlapping().count()


def list_overlapping() -> CompanyEntryQuerySet:
    """Return the approved entries that overlap with another approved one in a way that no curator has settled."""
    pairs = Overlap.objects.filter(entry=OuterRef("pk"), other__status="approved", settled_at=None).exclude(
        found_at__lte=F("entry__verified_at")
    )
    return CompanyEntry.objects.own().approved().filter(Exists(pairs))


def list_unused() -> CompanyEntryQuerySet:
    """Return the approved entries that enough sessions were told and none named as helpful, unless verified lately."""
    lately = timezone.now() - UNUSED_AGAIN
    entries = CompanyEntry.objects.own().approved().filter(pk__in=list_uncited())
    return entries.filter(Q(verified_at=None) | Q(verified_at__lt=lately))


def settle(entry: CompanyEntry, others: Iterable[int]) -> None:
    """Note that a curator keeps an entry beside others on purpose, so that the pairs are not found again."""
    now = timezone.now()
    Overlap.objects.bulk_create(
        [Overlap(entry_id=max(entry.pk, pk), other_id=min(entry.pk, pk), settled_at=now) for pk in others],
        update_conflicts=True,
        unique_fields=["entry", "other"],
        update_fields=["settled_at"],
    )


def _compare(entry: CompanyEntry) -> None:
    """Note with which approved entries one overlaps now; pairs that still do keep the time when they were found."""
    near = neighbours_of(Actor.of(ANYBODY), entry).approved
    found = {one.entry.pk for one in near if one.contradictions or one.similarity >= SAME_FROM}
    known: QuerySet[Overlap] = Overlap.objects.filter(Q(entry=entry) | Q(other=entry))
    known.filter(settled_at=None).exclude(Q(entry__in=found) | Q(other__in=found)).delete()
    Overlap.objects.bulk_create(
        [Overlap(entry_id=max(entry.pk, pk), other_id=min(entry.pk, pk)) for pk in found], ignore_conflicts=True
    )

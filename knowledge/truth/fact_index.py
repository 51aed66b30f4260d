"""The passages of facts, and what a new fact contradicts or repeats."""

from collections.abc import Collection

from django.db import transaction
from django.db.models import Exists, OuterRef, TextField
from django.db.models.functions import Cast

from bigmind.database.rls import rls_bypass
from knowledge.models import CompanyEntry, Fact, Kind, Passage
from knowledge.search.passages import index_passages

from .near_duplicates import SAME, Similar, compare_with_stored, keep_beside

INDEXED = 200
"""Facts that are indexed in one transaction."""


def compare_and_index(fact: Fact, kept: Collection[int] = (), *, made: bool = True) -> list[Similar]:
    """Write the passage of a fact, and note what it may contradict or repeat, among its owner's and the company's.

    Two facts that may contradict each other are labelled, until someone says which is true. Both are served as before.
    """
    others = Fact.objects.of(fact.user).current().exclude(pk=fact.pk)
    found = compare_with_stored(
        fact.fact,
        owner=fact.user,
        among={Kind.FACT: others, Kind.COMPANY: CompanyEntry.objects.approved()},
        fields={Kind.FACT: "fact", Kind.COMPANY: "content"},
        project=fact.project,
        hold_together=lambda row: fact.overlaps(row) if isinstance(row, Fact) else not fact.is_past,
    )
    similar = [one for one in found if one.kind != Kind.FACT or one.id not in kept]
    against = [one.id for one in similar if one.contradicts and one.kind == Kind.FACT]
    if against:
        Fact.objects.filter(pk__in=against).update(contradicted_by=fact)
    same = [one.id for one in similar if one.relation == SAME and one.kind == Kind.FACT]
    if same:
        fact.similar_to_id = same[0]
        fact.save(update_fields=["similar_to"])
    keep_beside(fact.pk, kept)
    index_fact(fact, made=made)
    return similar


def near_duplicates(fact: Fact) -> list[Similar]:
    """Return its owner's other current facts that say nearly the same as a fact."""
    others = Fact.objects.of(fact.user).current().exclude(pk=fact.pk)
    found = compare_with_stored(fact.fact, owner=fact.user, among={Kind.FACT: others}, fields={Kind.FACT: "fact"})
    return [one for one in found if one.relation == SAME]


def index_fact(fact: Fact, *, made: bool = False) -> None:
    """Write the passage of a fact."""
    index_passages(
        Kind.FACT,
        fact.pk,
        [fact.fact],
        owner=fact.user,
        project=fact.project,
        moment=fact.created_at,
        made=made,
        past=not fact.is_current,
    )


@rls_bypass()
def index_replaced_facts() -> int:
    """Index facts that were replaced before questions about the past could find them; return how many.

    May run twice at once and be killed at any point.
    """
    indexed = 0
    while number := _index_some_replaced():
        indexed += number
    return indexed


@transaction.atomic
def _index_some_replaced() -> int:
    passages = Passage.objects.filter(kind=Kind.FACT, source_id=Cast(OuterRef("pk"), TextField()))
    replaced = Fact.objects.exclude(deprecated_at=None).exclude(superseded_by=None).filter(~Exists(passages))
    facts = replaced.select_related("user").order_by("pk").select_for_update(skip_locked=True, of=("self",))[:INDEXED]
    for fact in facts:
        index_fact(fact)
    return len(facts)

"""The passages of facts."""

from django.db import transaction
from django.db.models import Exists, OuterRef, TextField
from django.db.models.functions import Cast

from bigmind.database.rls import rls_bypass
from knowledge.models import Fact, Kind, Passage
from knowledge.search.passages import index_passages

INDEXED = 200
"""Facts that are indexed in one transaction."""


def index_fact(fact: Fact, *, made: bool = False, is_new: bool = False) -> None:
    """Write the passage of a fact; of a new one there is none to replace."""
    index_passages(
        Kind.FACT,
        fact.pk,
        [fact.fact],
        owner=fact.user,
        project=fact.project,
        moment=fact.created_at,
        made=made,
        is_new=is_new,
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

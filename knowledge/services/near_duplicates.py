"""Likeness: what says nearly the same as something that is stored. It is pointed to; nothing is merged."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from pgvector import HalfVector
from rapidfuzz import fuzz, utils

from accounts.models import User
from knowledge.kinds import KINDS
from knowledge.models import EmbeddingSpace, Kind, Passage, PassageVector
from knowledge.search.filters import Filters
from knowledge.search.frequencies import rarest
from knowledge.search.indexes import scope_of_owner
from knowledge.search.retrievers import lexemes_of, retrieve_by_meaning, retrieve_by_words

ALIKE_IN_WORDS = 90.0
"""Of 100, whatever the order of the words: one word more or less in a sentence, another number, another spelling."""
ALIKE_IN_MEANING = 0.95
"""Cosine, as the knowledge base's first design has it (seed 001)."""
COMPARED = 5
COMPARED_CHARS = 10_000
SOUGHT_CHARS = 2_000
SOUGHT_WORDS = 12
EXCERPT_CHARS = 160

_POINTING = {
    kind: row.model for kind, row in KINDS.items() if any(one.name == "similar_to" for one in row.model._meta.fields)
}


@dataclass(frozen=True)
class Similar:
    """Something that says nearly the same; `similarity` is 1 for the same words in another order."""

    id: Any
    similarity: float
    excerpt: str


def lookalikes(text: str, *, kind: Kind, owner: User | None, among: QuerySet[Any], field: str) -> list[Similar]:
    """Return what is worded nearly like a text, the most alike first: of its owner's things, or of the shared ones.

    Ask before the text is indexed: it would find itself. What someone is changing now is left out: to point there
    would mean to wait for them, and they may wait for whoever asks.
    """
    scope = scope_of_owner(owner)
    words = rarest(lexemes_of(text[:SOUGHT_CHARS]), scope)[:SOUGHT_WORDS]
    found = retrieve_by_words(words, Filters([kind]), scope, few=False).candidates
    ids = list(dict.fromkeys(candidate.source_id for candidate in found))[:COMPARED]
    similar = [
        Similar(row.pk, round(likeness / 100, 2), getattr(row, field)[:EXCERPT_CHARS])
        for row in among.filter(pk__in=ids).select_for_update(skip_locked=True, no_key=True)
        if (likeness := _likeness(text, getattr(row, field))) >= ALIKE_IN_WORDS
    ]
    return sorted(similar, key=lambda one: -one.similarity)


def point_to_similar(space: EmbeddingSpace, vector_ids: Iterable[int]) -> int:
    """Let things whose vectors were just made point to an older one that means the same; return how many do now.

    Only things that point nowhere yet: what was found by its words is nearer than anything found by meaning.
    """
    made = PassageVector.objects.filter(
        pk__in=list(vector_ids), passage__ordinal=0, passage__kind__in=_POINTING
    ).exclude(vector=None)
    return sum(_point(space, row) for row in made.select_related("passage"))


@transaction.atomic
def _point(space: EmbeddingSpace, row: PassageVector) -> int:
    passage = row.passage
    things = _POINTING[passage.kind]._default_manager.filter(pk=passage.source_id, similar_to=None)
    if not things.exists():
        return 0
    filters = Filters([Kind(passage.kind)])
    near = retrieve_by_meaning(HalfVector(row.vector), space, filters, scope_of_owner(passage.owner), few=False)
    alike = [found.passage for found in near if found.score > ALIKE_IN_MEANING and found.passage < passage.pk]
    older = Passage.objects.filter(pk__in=alike, ordinal=0).exclude(source_id=passage.source_id)
    by_id = older.in_bulk()
    for pk in alike:
        if pk in by_id:
            return things.update(similar_to=by_id[pk].source_id)
    return 0


def _likeness(one: str, other: str) -> float:
    return fuzz.token_sort_ratio(
        one[:COMPARED_CHARS],
        other[:COMPARED_CHARS],
        processor=utils.default_process,
        score_cutoff=ALIKE_IN_WORDS,
    )

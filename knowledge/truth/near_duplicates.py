"""Near-duplicates: what a new text repeats, contradicts or may replace, found before the reply.

The new text itself is the query, by words and by meaning: it finds what is about the same whatever the words. An
embedder over the network is not awaited: words decide first, and a worker compares again once there is a vector.
Nothing is merged, and nothing is refused.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import QuerySet
from pgvector import HalfVector
from rapidfuzz import fuzz, utils

from accounts.models import User
from bigmind.core.handles import handle_of
from bigmind.core.load_once import load_once
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from knowledge.embeddings.providers import EmbedderError, TokenEmbedder, provider
from knowledge.kinds import KINDS
from knowledge.models import EmbeddingSpace, Fact, Kind, Passage, PassageVector
from knowledge.search.filters import Filters
from knowledge.search.frequencies import rarest
from knowledge.search.hybrid import cosines_each
from knowledge.search.indexes import scope_of_owner, scopes_of
from knowledge.search.languages import language_of
from knowledge.search.retrievers import lexemes_of, merge_candidates, retrieve_by_meaning, retrieve_by_words
from knowledge.truth.contradictions import contradictions

ALIKE_IN_WORDS = 90.0
"""Of 100, whatever the order of the words: one word more or less in a sentence, another number, another spelling."""
SAME_MEANING = 0.8
"""Cosine from which two texts say nearly the same. Fitted on half A of `benchmarks/truth`, as the other two are."""
SAME_SUBJECT = 0.6
"""Cosine from which the nearest is named, for the new text may replace it."""
COMPARABLE = 0.45
"""Cosine from which two texts may be about the same, so that they can contradict each other."""
COMPARED = 8
COMPARED_CHARS = 10_000
SOUGHT_CHARS = 2_000
SOUGHT_WORDS = 12
EXCERPT_CHARS = 160

# What is older and has no vector yet would be missed: the two are compared when the newer one's turn comes.
_COMPARABLE = """
WITH pending AS MATERIALIZED (
    SELECT passage.kind, coalesce(passage.owner_id, '00000000-0000-0000-0000-000000000000') AS owner,
        min(passage.id) AS oldest
    FROM knowledge_passagevector AS vector JOIN knowledge_passage AS passage ON passage.id = vector.passage_id
    WHERE vector.space_id = %(space)s AND vector.vector IS NULL AND vector.trouble = '' AND NOT passage.compared
    GROUP BY 1, 2
)
SELECT passage.id, passage.owner_id
FROM knowledge_passage AS passage JOIN knowledge_passagevector AS vector ON vector.passage_id = passage.id
LEFT JOIN pending ON pending.kind = passage.kind
    AND pending.owner = coalesce(passage.owner_id, '00000000-0000-0000-0000-000000000000')
WHERE NOT passage.compared AND vector.space_id = %(space)s AND vector.vector IS NOT NULL
    AND (pending.oldest IS NULL OR passage.id < pending.oldest)
ORDER BY passage.id LIMIT %(most)s
"""
_KEPT = "truth:kept"
DAY = 24 * 60 * 60
CONTRADICTS, SAME, RELATED = "contradicts", "same", "related"
_POINTING = {
    kind: row.model for kind, row in KINDS.items() if any(one.name == "similar_to" for one in row.model._meta.fields)
}


@dataclass(frozen=True)
class Similar:
    """Something stored about the same as a new text.

    `relation`: it `contradicts` the new text (`hints` says how), says the `same`, or is merely the nearest `related`
    one, which the new text may replace. `similarity` is 1 for the same words.
    """

    kind: str
    id: Any
    similarity: float
    excerpt: str
    relation: str
    hints: list[str] = field(default_factory=list)

    @property
    def handle(self) -> str:
        """The short name of it, as agents read it: F12."""
        return handle_of(self.kind, str(self.id))

    @property
    def contradicts(self) -> bool:
        """Whether it contradicts the new text, as far as that can be judged."""
        return self.relation == CONTRADICTS


@load_once
def load_models() -> None:
    """Load what tells the language of a text and how near it is to others, once in a process.

    Call it before a lock is taken: on a busy machine it takes seconds, in which all others would wait.
    """
    language_of("a text")
    embedder = provider()
    if isinstance(embedder, TokenEmbedder):
        with suppress(EmbedderError):
            embedder.load()


def compare_with_stored(
    text: str,
    *,
    owner: User,
    among: Mapping[Kind, QuerySet[Any]],
    fields: Mapping[Kind, str],
    project: str = "",
    hold_together: Callable[[Any], bool] = lambda row: True,
) -> list[Similar]:
    """Return what a text repeats, contradicts or may replace.

    Ask before the text is indexed: it would find itself. Rows that someone is changing are left out: to link to them
    would mean to wait for them, and they may wait for us.

    Args:
        among: Of each kind, what it is compared with.
        fields: Of each kind, the attribute with its text.
        project: The project of the text. What belongs to another project can hold beside it.
        hold_together: Whether a row holds at a time at which the text does: if not, it contradicts nothing.
    """
    sought = text[:SOUGHT_CHARS]
    filters = [Filters([kind]) for kind in among]
    if provider().is_local:
        near = cosines_each(sought, owner=owner, filters=filters, limit=COMPARED)
    else:
        near = [_find_by_words(sought, one, owner) for one in filters]
    similar = [
        one
        for (kind, rows), cosines in zip(among.items(), near, strict=True)
        for one in _compare(text, project, kind, rows, fields[kind], cosines, hold_together)
    ]
    return _choose(similar)


def _find_by_words(text: str, filters: Filters, owner: User) -> dict[str, float | None]:
    [scope] = scopes_of(owner, filters.kinds)
    words = rarest(lexemes_of(text), scope)[:SOUGHT_WORDS]
    found = merge_candidates(retrieve_by_words(words, filters, scope, few=False).candidates).values()
    return dict.fromkeys([candidate.source_id for candidate in found][:COMPARED])


def _compare(
    text: str,
    project: str,
    kind: Kind,
    rows: QuerySet[Any],
    field: str,
    cosines: Mapping[str, float | None],
    hold_together: Callable[[Any], bool],
) -> Iterable[Similar]:
    near = rows.filter(pk__in=list(cosines))
    # What may be linked to is locked; nothing links to company knowledge.
    for row in near.select_for_update(skip_locked=True, no_key=True, of=("self",)) if kind in _POINTING else near:
        known, cosine = getattr(row, field), cosines[str(row.pk)]
        is_elsewhere = bool(project and row.project) and project.casefold() != row.project.casefold()
        if one := relation_of(text, known, cosine, can_contradict=not is_elsewhere and hold_together(row)):
            relation, similarity, hints = one
            yield Similar(kind, row.pk, round(similarity, 2), known[:EXCERPT_CHARS], relation, hints)


def relation_of(
    new: str, known: str, cosine: float | None, *, can_contradict: bool = True
) -> tuple[str, float, list[str]] | None:
    """Return how a stored text stands to a new one, how similar they are, and the hints; None: it has no bearing.

    Args:
        cosine: How near they are in meaning; None where that is not known.
        can_contradict: Whether both are about the same project.
    """
    words = _likeness(new, known)
    similarity = max(words / 100, cosine or 0.0)
    is_comparable = words >= ALIKE_IN_WORDS or cosine is None or cosine >= COMPARABLE
    if can_contradict and is_comparable and (hints := contradictions(new, known)):
        return CONTRADICTS, similarity, hints
    if words >= ALIKE_IN_WORDS or (cosine or 0.0) >= SAME_MEANING:
        return SAME, similarity, []
    return (RELATED, similarity, []) if (cosine or 0.0) >= SAME_SUBJECT else None


def _choose(similar: list[Similar]) -> list[Similar]:
    """Return contradictions, then repetitions, and where there is neither the one that is nearest."""
    ordered = sorted(similar, key=lambda one: -one.similarity)
    clear = [one for relation in (CONTRADICTS, SAME) for one in ordered if one.relation == relation]
    return clear or ordered[:1]


def compare_next(space: EmbeddingSpace, most: int) -> int:
    """Compare texts that now have a vector with older ones, and note what they mean alike; return how many.

    Each in a transaction of its own: no one waits long for what it locks, and whoever stops leaves the rest waiting.
    """
    with connection.cursor() as cursor:
        cursor.execute(_COMPARABLE, {"space": space.pk, "most": most})
        return sum(_compare_waiting(space, *row) for row in cursor.fetchall())


@transaction.atomic
def _compare_waiting(space: EmbeddingSpace, passage_id: int, owner_id: UUID | None) -> bool:
    # One text at a time, whoever compares: two workers would do the same twice.
    wait_for_turn(AdvisoryLock.NEAR_DUPLICATES, space.pk)
    # What somebody is changing is left to the next run. To wait for it while holding what they wait for, a thing or its
    # passages, would be a deadlock.
    waiting = Passage.objects.filter(pk=passage_id, owner=owner_id, compared=False).select_related("owner")
    passage = waiting.select_for_update(of=("self",), no_key=True, skip_locked=True).first()
    if passage is None or not _point(space, passage):
        return False
    waiting.update(compared=True)
    return True


def _point(space: EmbeddingSpace, passage: Passage) -> bool:
    """Let a thing point to an older one that means the same; mark the older ones that it contradicts.

    Only if it points nowhere yet: what was found by its words is nearer than anything found by meaning. Returns whether
    nobody was changing any of them.
    """
    things = _POINTING[passage.kind]._default_manager
    if not things.filter(pk=passage.source_id, similar_to=None).exists():
        return True
    same, contradicted = _compare_passage(space, passage)
    named = things.filter(pk__in=[passage.source_id, *contradicted, *([same] if same else [])]).order_by("pk")
    if len(named.select_for_update(no_key=True, skip_locked=True).values_list("pk")) < named.count():
        return False
    for older in contradicted:
        _mark_contradicted(passage, int(older))
    if same:
        things.filter(pk=passage.source_id, similar_to=None).update(similar_to=same)
    return True


def _compare_passage(space: EmbeddingSpace, passage: Passage) -> tuple[str | None, list[str]]:
    """Return the nearest older thing that says the same as a passage, and the nearer facts that contradict it."""
    row = PassageVector.objects.get(passage=passage, space=space, owner=passage.owner_id)
    filters = Filters([Kind(passage.kind)])
    near = retrieve_by_meaning(HalfVector(row.vector), space, filters, scope_of_owner(passage.owner), few=False)
    cosines = {one.passage: one.score for one in near if one.score >= COMPARABLE and one.passage < passage.pk}
    of_owner = Passage.objects.filter(owner=passage.owner_id, ordinal=0)
    older = of_owner.filter(pk__in=list(cosines)[:COMPARED]).exclude(source_id=passage.source_id)
    contradicted = []
    for other in sorted(older, key=lambda one: -cosines[one.pk]):
        is_elsewhere = bool(passage.project and other.project) and passage.project != other.project
        found = relation_of(passage.words, other.words, cosines[other.pk], can_contradict=not is_elsewhere)
        relation = found[0] if found else RELATED
        if relation == CONTRADICTS and passage.kind == Kind.FACT:
            contradicted.append(other.source_id)
        # Facts have a mark for contradictions; other kinds can only point to what they contradict.
        elif relation in (SAME, CONTRADICTS):
            return other.source_id, contradicted
    return None, contradicted


def _mark_contradicted(newer: Passage, older: int) -> None:
    pk = int(newer.source_id)
    facts = Fact.objects.current().filter(pk=older)
    both = Fact.objects.select_related("superseded_by").in_bulk([older, pk])
    if len(both) < 2 or not both[pk].overlaps(both[older]):
        return
    if older not in cache.get(f"{_KEPT}:{pk}", []):
        facts.update(contradicted_by=pk)


def keep_beside(fact_id: int, ids: Collection[int]) -> None:
    """Remember that these facts hold beside one that has no vector yet: a worker compares it once it has one."""
    if ids:
        cache.set(f"{_KEPT}:{fact_id}", list(ids), DAY)


def is_worded_alike(one: str, other: str) -> bool:
    """Return whether two texts have nearly the same words, whatever their order."""
    return _likeness(one, other) >= ALIKE_IN_WORDS


def _likeness(one: str, other: str) -> float:
    return fuzz.token_sort_ratio(
        one[:COMPARED_CHARS],
        other[:COMPARED_CHARS],
        processor=utils.default_process,
        score_cutoff=ALIKE_IN_WORDS,
    )

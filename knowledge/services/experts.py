"""Who might know: people whose shared contributions lie nearest to a question, for questions that found nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from pgvector import HalfVector

from accounts.models import User
from accounts.people.profiles import people_shown
from bigmind.core.sections import ProfileSection
from knowledge.models import CompanyEntry, EmbeddingSpace, Entry, Kind, UnansweredQuestion
from knowledge.search.indexes import as_indexed
from knowledge.services.embedding import active_space

NEAR = 8
PEOPLE_NAMED = 3
NEAR_ENOUGH = 0.25
"""Cosine. Lower than for an answer: what they wrote need not answer the question, only be about the same."""

_NEAREST = """
SELECT asked.question, near.kind, near.source_id, 1 - near.distance
FROM unnest(%s::bigint[], %s::text[]) AS asked(question, vector)
CROSS JOIN LATERAL (
    SELECT passage.kind, passage.source_id, {vector} <=> asked.vector::halfvec({dimensions}) AS distance
    FROM knowledge_passagevector AS vector JOIN knowledge_passage AS passage ON passage.id = vector.passage_id
    WHERE vector.space_id = {space} AND vector.vector IS NOT NULL AND vector.owner_id IS NULL
        AND passage.kind = ANY(%s)
    ORDER BY distance LIMIT %s
) AS near
"""


@dataclass(frozen=True)
class PossibleExpert:
    """Someone who might know, and the contribution that says so."""

    person: str
    kind: str
    id: str
    title: str
    similarity: float


def who_might_know(asker: User, question_ids: Iterable[int]) -> dict[int, list[PossibleExpert]]:
    """Return, for each question, up to three people and what they shared, the nearest first.

    Only what everybody may read speaks for someone: approved company knowledge, and entries of the knowledge base.
    Anyone who asks is not named to themselves, and nobody is who does not share their contributions.
    """
    space = active_space()
    found = _nearest(_vectors(question_ids, space), space) if space else []
    owners = _owners({(kind, id) for _, kind, id, _ in found})
    willing = set(
        people_shown(asker, ProfileSection.CONTRIBUTIONS)
        .filter(pk__in={owner.pk for owner, _ in owners.values()})
        .exclude(pk=asker.pk)
        .values_list("pk", flat=True)
    )
    named: dict[int, dict[object, PossibleExpert]] = {}
    for question, kind, id, similarity in sorted(found, key=lambda row: -row[3]):
        owner, title = owners.get((kind, id), (None, ""))
        if owner is not None and owner.pk in willing and similarity >= NEAR_ENOUGH:
            knower = PossibleExpert(str(owner), kind, id, title, round(similarity, 2))
            named.setdefault(question, {}).setdefault(owner.pk, knower)
    return {question: list(people.values())[:PEOPLE_NAMED] for question, people in named.items()}


def _vectors(question_ids: Iterable[int], space: EmbeddingSpace) -> list[tuple[int, str]]:
    """The vectors of these questions that can be compared now."""
    asked = UnansweredQuestion.objects.filter(pk__in=list(question_ids), space=space)
    return [(one.pk, HalfVector(one.vector).to_text()) for one in asked.only("vector") if one.vector is not None]


def _nearest(questions: Sequence[tuple[int, str]], space: EmbeddingSpace) -> list[tuple[int, str, str, float]]:
    if not questions:
        return []
    ids, vectors = zip(*questions, strict=True)
    text = _NEAREST.format(
        vector=as_indexed("vector.vector", space.dimensions), dimensions=space.dimensions, space=space.pk
    )
    with connection.cursor() as cursor:
        cursor.execute(text, [list(ids), list(vectors), [Kind.ENTRY, Kind.COMPANY], NEAR])
        return list(cursor.fetchall())


def _owners(things: set[tuple[str, str]]) -> dict[tuple[str, str], tuple[User, str]]:
    """Whose each shared thing is, and what it is called."""
    company = CompanyEntry.objects.approved().select_related("owner", "proposed_by")
    entries = Entry.objects.select_related("created_by")
    owners: dict[tuple[str, str], tuple[User, str]] = {}
    for one in company.filter(pk__in=[int(id) for kind, id in things if kind == Kind.COMPANY]):
        if owner := one.owner or one.proposed_by:
            owners[Kind.COMPANY, str(one.pk)] = (owner, f"[{one.handle}] {one.title}")
    for entry in entries.filter(pk__in=[UUID(id) for kind, id in things if kind == Kind.ENTRY]):
        if entry.created_by:
            owners[Kind.ENTRY, str(entry.pk)] = (entry.created_by, str(entry))
    return owners

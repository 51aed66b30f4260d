"""Expertise: who worked on something or might know about it, answered from what people share, with the reason."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from pgvector import HalfVector

from accounts.actor import Actor
from accounts.models import User
from accounts.people.sharing import nobody_to_find, people_shown
from bigmind.core.argument_types import Limit, Offset, Query
from bigmind.core.pagination import Page
from bigmind.core.profile_sections import ProfileSection
from bigmind.core.rls import rls_bypass
from knowledge.models import CompanyEntry, EmbeddingSpace, Entry, Kind, UnansweredQuestion
from knowledge.search.abstention import may_answer
from knowledge.search.filters import Filters
from knowledge.search.findings import Finding
from knowledge.search.hybrid import search
from knowledge.search.indexes import as_indexed
from knowledge.search.retrievers import CANDIDATES
from knowledge.shapes.directory import ExpertShape, ReasonShape

from .embedding import active_space
from .people_index import lines_of

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
        AND passage.owner_id IS NULL AND passage.kind = ANY(%s)
    ORDER BY distance LIMIT %s
) AS near
"""

REASONS = 5
_ASKING = re.compile(
    r"^\s*who\s+(?:(?:here|has|have|is|are|else|did|do|can)\s+)*"
    r"(?:work(?:s|ed|ing)?|kn[eo]ws?|help|expert|ask)?\s*(?:on|about|with|in|of|for)?\s+",
    re.IGNORECASE,
)


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
            knower = PossibleExpert(owner.signature, kind, id, title, round(similarity, 2))
            named.setdefault(question, {}).setdefault(owner.pk, knower)
    return {question: list(people.values())[:PEOPLE_NAMED] for question, people in named.items()}


@rls_bypass()
def _vectors(question_ids: Iterable[int], space: EmbeddingSpace) -> list[tuple[int, str]]:
    """The vectors of these questions that can be compared now; also colleagues', as far as `gaps` disclosed them."""
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


@dataclass(frozen=True, kw_only=True)
class Experts(Page[ExpertShape]):
    """A page of people who were found, the best first. `fallback`: by words alone, because the embedder is away."""

    fallback: bool
    notice: str = ""

    @property
    def no_word(self) -> bool:
        """Whether no word of the question was found: then these are only the nearest in meaning."""
        return bool(self.items) and not any(reason.matched for one in self.items for reason in one.reasons)


def search_directory(actor: Actor, *, query: Query, limit: Limit = 10, offset: Offset = 0) -> Experts:
    """Find who worked on something, by words and meaning, over the topics, headlines and contributions people share.

    Call this when you need a person to ask, or the user asks “who worked on X?”. Returns people, the best first, each
    with the reasons: which topic, headline or company entry. People merely near in meaning are left out.
    """
    subject = _ASKING.sub("", query).strip(" ?") or query
    eligible = {Kind.PERSON: _people_to_find(actor.user), Kind.COMPANY: _entries_to_find(actor.user)}
    filters = Filters(list(eligible), eligible=eligible)
    found = search(subject, owner=actor.user, filters=filters, limit=2 * CANDIDATES)
    # Something is always nearest: below the floor of every search it is no reason to name anyone.
    experts = _experts(_reasons(actor.user, [item for item in found.items if may_answer(item)]))
    notice = " ".join(filter(None, (found.notice, nobody_to_find(actor.user))))
    return Experts(
        experts[offset : offset + limit], len(experts), limit, offset, fallback=found.fallback, notice=notice
    )


def _people_to_find(viewer: User) -> QuerySet[User]:
    return people_shown(viewer, ProfileSection.TOPICS) | people_shown(viewer, ProfileSection.HEADLINES)


def _entries_to_find(viewer: User) -> QuerySet[CompanyEntry]:
    contributors = people_shown(viewer, ProfileSection.CONTRIBUTIONS)
    return CompanyEntry.objects.approved().filter(proposed_by__in=contributors.order_by().values("pk"))


def _reasons(viewer: User, found: Iterable[Finding]) -> list[tuple[UUID, ReasonShape]]:
    """Read the hits again: what is no longer shared is no reason."""
    people = [item for item in found if item.kind == Kind.PERSON]
    lines = lines_of([UUID(item.source_id) for item in people])
    entries = _entries_to_find(viewer).in_bulk([int(item.source_id) for item in found if item.kind == Kind.COMPANY])
    reasons = []
    for item in found:
        if item.kind == Kind.PERSON:
            person = UUID(item.source_id)
            if kind := lines.get(person, {}).get(item.text):
                reasons.append((person, _reason(item, kind, item.text)))
        elif (entry := entries.get(int(item.source_id))) and entry.proposed_by_id:
            reasons.append((entry.proposed_by_id, _reason(item, "entry", entry.title, entry.pk)))
    return reasons


def _reason(item: Finding, kind: str, text: str, entry_id: int | None = None) -> ReasonShape:
    return ReasonShape(kind=kind, text=text, score=item.score, matched=item.matched, entry_id=entry_id)


def _experts(reasons: Iterable[tuple[UUID, ReasonShape]]) -> list[ExpertShape]:
    """Collect each person's reasons. The best reason comes first; the number of reasons does not count."""
    of_each: dict[UUID, list[ReasonShape]] = {}
    for person, reason in reasons:
        of_each.setdefault(person, []).append(reason)
    users = User.objects.in_bulk(list(of_each))
    return [
        ExpertShape(username=user.username, name=str(user), role=user.role, score=told[0].score, reasons=told[:REASONS])
        for pk, told in of_each.items()
        if (user := users.get(pk))
    ]

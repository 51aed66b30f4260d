"""Neighbours: the approved entries and proposals that are similar to an entry, and those it may contradict."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounts.actor import Actor
from knowledge.models import UNDECIDED, CompanyEntry, Kind
from knowledge.models.company import CompanyEntryQuerySet
from knowledge.search.hybrid import Filters, search
from knowledge.services.contradictions import contradictions

NEAR_FROM = 0.5
"""From which similarity on two texts are about the same. What is further apart is neither shown nor compared."""
NEAREST = 3
MOST = 8
CANDIDATES = 12
WAITING_COMPARED = 300
"""How many of the newest proposals are compared: opening an entry must not take longer the more there are."""

# The share of the words of the shorter text that the longer one has, too.
_SHARED_WORDS = """
WITH mine AS (SELECT tsvector_to_array(to_tsvector('english', %(text)s)) AS words),
compared AS (
    SELECT id FROM knowledge_companyentry WHERE id = ANY(%(ids)s)
    UNION
    (SELECT id FROM knowledge_companyentry WHERE status = ANY(%(waiting)s) ORDER BY created_at DESC LIMIT %(most)s)
),
theirs AS (
    SELECT entry.id, tsvector_to_array(to_tsvector('english', entry.title || ' ' || entry.content)) AS words
    FROM knowledge_companyentry AS entry JOIN compared USING (id)
),
counted AS (
    SELECT id, least(cardinality(mine.words), cardinality(theirs.words)) AS shorter,
        cardinality(ARRAY(SELECT unnest(mine.words) INTERSECT SELECT unnest(theirs.words))) AS shared
    FROM theirs, mine
)
SELECT id, shared::float / shorter FROM counted WHERE shared > 1
"""


@dataclass(frozen=True)
class Neighbour:
    """A similar entry, by meaning or by words, and hints on what the two may disagree."""

    entry: CompanyEntry
    similarity: float
    by_meaning: bool
    contradictions: list[str]

    @property
    def percent(self) -> int:
        """The similarity in percent."""
        return round(self.similarity * 100)


@dataclass(frozen=True)
class Neighbours:
    """Similar entries, the most similar first. `fallback`: without vectors, only words were compared."""

    approved: list[Neighbour]
    waiting: list[Neighbour]
    fallback: bool


def neighbours_of(actor: Actor, entry: CompanyEntry) -> Neighbours:
    """Return the entries most similar to one, approved and pending, and all that it may contradict."""
    filters = Filters([Kind.COMPANY], shared=True)
    found = search(entry.text, owner=actor.user, filters=filters, limit=CANDIDATES)
    by_vector = {int(item.source_id): item.vector or 0.0 for item in found.items}
    by_words = _compare_words(entry, by_vector)
    near = {
        pk for pk in {*by_vector, *by_words} - {entry.pk} if max(by_vector.get(pk, 0), by_words.get(pk, 0)) >= NEAR_FROM
    }
    others = CompanyEntry.objects.filter(pk__in=near).select_related("proposed_by", "owner")
    return Neighbours(
        approved=_nearest(entry, others.approved(), by_vector, by_words),
        waiting=_nearest(entry, others.undecided(), by_vector, by_words),
        fallback=found.fallback,
    )


def contradicting(actor: Actor, entry: CompanyEntry) -> list[Neighbour]:
    """Return the approved entries that may contradict one."""
    return [neighbour for neighbour in neighbours_of(actor, entry).approved if neighbour.contradictions]


def _nearest(
    entry: CompanyEntry, others: CompanyEntryQuerySet, by_vector: dict[int, float], by_words: dict[int, float]
) -> list[Neighbour]:
    neighbours = [_neighbour(entry, other, by_vector.get(other.pk, 0), by_words.get(other.pk, 0)) for other in others]
    neighbours.sort(key=lambda neighbour: (-neighbour.similarity, -neighbour.entry.pk))
    return _pick_shown(neighbours)


def _pick_shown(neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    rest = [neighbour for neighbour in neighbours[NEAREST:] if neighbour.contradictions]
    return [*neighbours[:NEAREST], *rest][:MOST]


def _neighbour(entry: CompanyEntry, other: CompanyEntry, by_vector: float, by_words: float) -> Neighbour:
    similarity = round(min(1.0, max(by_vector, by_words)), 3)
    return Neighbour(other, similarity, by_vector >= by_words, contradictions(entry.text, other.text))


def _compare_words(entry: CompanyEntry, ids: Iterable[int]) -> dict[int, float]:
    """Return the share of common words for each of these entries and for the newest proposals."""
    parameters: dict[str, Any] = {
        "text": entry.text,
        "ids": list(ids),
        "waiting": list(UNDECIDED),
        "most": WAITING_COMPARED,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SHARED_WORDS, parameters)
        return dict(cursor.fetchall())

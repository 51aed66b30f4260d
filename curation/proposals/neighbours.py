"""Neighbours: what an entry is near to, among what is approved and among what waits, and what it may contradict."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounts.actor import Actor
from knowledge.models import UNDECIDED, CompanyEntry, Kind
from knowledge.models.company import CompanyEntryQuerySet
from knowledge.search.hybrid import Filters, search

from .contradictions import contradictions

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
    """An entry that is near in meaning or words, and on what the two may disagree."""

    entry: CompanyEntry
    similarity: float
    by_meaning: bool
    contradictions: list[str]

    @property
    def percent(self) -> int:
        """The similarity, as people read it."""
        return round(self.similarity * 100)


@dataclass(frozen=True)
class Neighbours:
    """What is near, the nearest first, and whether words alone decided."""

    approved: list[Neighbour]
    waiting: list[Neighbour]
    fallback: bool


def neighbours_of(actor: Actor, entry: CompanyEntry) -> Neighbours:
    """Return the entries nearest to one, of both kinds; what may contradict it also where others are nearer."""
    filters = Filters([Kind.COMPANY], shared=True)
    found = search(entry.text, owner=actor.user, filters=filters, limit=CANDIDATES)
    meant = {int(item.source_id): item.vector or 0.0 for item in found.items}
    worded = _shared_words(entry, meant)
    near = {pk for pk in {*meant, *worded} - {entry.pk} if max(meant.get(pk, 0), worded.get(pk, 0)) >= NEAR_FROM}
    others = CompanyEntry.objects.filter(pk__in=near).select_related("proposed_by", "owner")
    return Neighbours(
        approved=_nearest(entry, others.approved(), meant, worded),
        waiting=_nearest(entry, others.undecided(), meant, worded),
        fallback=found.fallback,
    )


def contradicting(actor: Actor, entry: CompanyEntry) -> list[Neighbour]:
    """Return the approved entries that may contradict one."""
    return [neighbour for neighbour in neighbours_of(actor, entry).approved if neighbour.contradictions]


def _nearest(
    entry: CompanyEntry, others: CompanyEntryQuerySet, meant: dict[int, float], worded: dict[int, float]
) -> list[Neighbour]:
    neighbours = [_neighbour(entry, other, meant.get(other.pk, 0), worded.get(other.pk, 0)) for other in others]
    neighbours.sort(key=lambda neighbour: (-neighbour.similarity, -neighbour.entry.pk))
    return _shown(neighbours)


def _shown(neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    rest = [neighbour for neighbour in neighbours[NEAREST:] if neighbour.contradictions]
    return [*neighbours[:NEAREST], *rest][:MOST]


def _neighbour(entry: CompanyEntry, other: CompanyEntry, meant: float, worded: float) -> Neighbour:
    similarity = round(min(1.0, max(meant, worded)), 3)
    return Neighbour(other, similarity, meant >= worded, contradictions(entry.text, other.text))


def _shared_words(entry: CompanyEntry, ids: Iterable[int]) -> dict[int, float]:
    """Compare the words of an entry with those of these entries, and of what waits."""
    asked: dict[str, Any] = {"text": entry.text, "ids": list(ids), "waiting": list(UNDECIDED), "most": WAITING_COMPARED}
    with connection.cursor() as cursor:
        cursor.execute(_SHARED_WORDS, asked)
        return dict(cursor.fetchall())

"""Search of references: by exact name first, then by words, synonyms and meaning."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

from django.db.models import Count
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.rls import rls_bypass
from bigmind.core.vocabulary import Query
from knowledge.models import Feedback, Kind, Reference, Usefulness
from knowledge.models.references import ReferenceQuerySet
from knowledge.references.arguments import CategoryName, CollectionName, TypeName
from knowledge.references.lookup import (
    Match,
    SearchedCollections,
    commands_in,
    find_by_name,
    find_endpoints,
    is_command_line,
    nearest_references,
    select_collections,
)
from knowledge.references.texts import passage_of
from knowledge.references.texts_by_hand import ALL, count_use, note_unanswered
from knowledge.search.abstention import FLOOR, is_answered, name_relevance
from knowledge.search.hybrid import Filters, Finding, search
from knowledge.search.names import Request, Synonyms, request_in
from knowledge.services.gaps import note_gap
from knowledge.vocabulary import Relevance

RANKED = 20
"""How many hits are read before feedback reorders them: feedback may lift one from beyond the page."""
STEPS = {Usefulness.USEFUL: 0.03, Usefulness.OUTDATED: -0.04, Usefulness.WRONG: -0.06}
"""How far one feedback moves the score of a reference."""
MOST_MOVED = 0.15
"""How far all feedback together moves it: enough to decide between similar answers, not to beat a better fit."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Voices:
    """The open feedback on a reference, and how far it moves the score."""

    useful: int = 0
    wrong: int = 0
    outdated: int = 0

    @property
    def moves(self) -> float:
        """How far the score is moved, at most MOST_MOVED either way."""
        counts = {Usefulness.USEFUL: self.useful, Usefulness.WRONG: self.wrong, Usefulness.OUTDATED: self.outdated}
        moved = sum(STEPS[verdict] * number for verdict, number in counts.items())
        return round(max(-MOST_MOVED, min(MOST_MOVED, moved)), 3)

    def __str__(self) -> str:
        counts = {"useful": self.useful, "wrong": self.wrong, "outdated": self.outdated}
        return ", ".join(f"{number} × {verdict}" for verdict, number in counts.items() if number)


@dataclass(frozen=True)
class ReferenceHit:
    """A reference that was found, and what it matched on."""

    reference: Reference
    score: float
    matched_on: list[str]
    feedback: float = 0.0
    relevance: Relevance = "strong"


@dataclass(frozen=True)
class ReferenceHits:
    """What was found, the best first; nothing and the nearest real names when nothing is called so.

    `fallback`: by names and words alone, because the embedder is away.
    """

    items: list[ReferenceHit]
    total: int
    did_you_mean: list[str] = field(default_factory=list)
    fallback: bool = False
    reason: str = ""
    notice: str = ""


def search_knowledge(
    actor: Actor,
    *,
    query: Query,
    type: TypeName = "all",
    category: CategoryName = "",
    collection: CollectionName = "",
    limit: Annotated[int, Field(ge=1, le=50)] = 5,
) -> ReferenceHits:
    """Search the documentation: commands, API endpoints, guides, features, troubleshooting, settings.

    ALWAYS call this before you answer how to do something with a product that is documented here; never make up a
    command, an option or an endpoint. Returns the best first, with what each matched on. When it returns none, try
    list_commands, then say that you have no information.
    """
    among = select_collections(collection)
    eligible = _eligible(among, type, category)
    request = request_in(query)
    is_line = request is None and is_command_line(query, among)
    named = _find_named(query, among, request=request, is_line=is_line)
    kept = set(eligible.filter(pk__in=[match.reference.pk for match in named]).values_list("pk", flat=True))
    named = [match for match in named if match.reference.pk in kept]
    if not (request or is_line):
        return _by_words_and_meaning(actor, query, among, eligible, named, limit=limit)
    if named:
        return _count_and_return(actor, ReferenceHits([_hit_of(match) for match in named[:limit]], len(named)))
    note_unanswered(actor, query)
    return ReferenceHits([], 0, nearest_references(query, among, request=request))


@rls_bypass()
def voices_of(ids: Sequence[UUID]) -> dict[UUID, Voices]:
    """Return the open feedback on these references. A reference without any is left out."""
    rows = Feedback.objects.filter(kind=Kind.REFERENCE, source_id__in=[str(id) for id in ids], settled_at=None)
    counted: dict[UUID, dict[str, int]] = {}
    for id, verdict, number in rows.order_by().values_list("source_id", "verdict").annotate(Count("pk")):
        counted.setdefault(UUID(id), {})[verdict] = number
    return {id: Voices(**verdicts) for id, verdicts in counted.items()}


def _find_named(query: str, among: SearchedCollections, *, request: Request | None, is_line: bool) -> list[Match]:
    """Return what the question names exactly, including endpoints, and commands with arguments."""
    if request:
        found = find_endpoints(request, among)
        return [match for match in found if not request.method or match.reference.method == request.method]
    return find_by_name(query, among) or ([line.match for line in commands_in(query, among)] if is_line else [])


def _eligible(among: SearchedCollections, kind: str, category: str) -> ReferenceQuerySet:
    rows = among.references() if kind == ALL else among.references().filter(kind=kind)
    return rows.in_category(category) if category and category.casefold() != ALL else rows


def _by_words_and_meaning(
    actor: Actor,
    query: str,
    among: SearchedCollections,
    eligible: ReferenceQuerySet,
    named: Sequence[Match],
    *,
    limit: int,
) -> ReferenceHits:
    synonyms = among.synonyms
    filters = Filters([Kind.REFERENCE], shared=True, eligible={Kind.REFERENCE: eligible})
    found = search(query, owner=actor.user, filters=filters, limit=max(RANKED, limit), synonyms=synonyms)
    is_known = is_answered(found)
    if not (named or is_known):
        note_gap(actor, query, found)
        return ReferenceHits([], 0, nearest_references(query, among), found.fallback, found.reason, found.notice)
    hits = [_hit_of(match) for match in named]
    first = {hit.reference.pk for hit in hits}
    rows = eligible.select_related("collection").in_bulk([UUID(item.source_id) for item in found.items])
    read = [(item, rows[id]) for item in found.items if (id := UUID(item.source_id)) in rows and id not in first]
    voices = voices_of([row.pk for _, row in read])
    others = [_hit(item, row, voices.get(row.pk, Voices()), synonyms, is_known=is_known) for item, row in read]
    hits += sorted(others, key=lambda hit: -hit.score)
    total = max(found.total, len(hits))
    return _count_and_return(actor, ReferenceHits(hits[:limit], total, [], found.fallback, found.reason, found.notice))


def _count_and_return(actor: Actor, hits: ReferenceHits) -> ReferenceHits:
    count_use(actor, [hit.reference.pk for hit in hits.items])
    return hits


def _hit_of(match: Match) -> ReferenceHit:
    return ReferenceHit(match.reference, 1.0, [match.matched_on])


def _hit(found: Finding, reference: Reference, voices: Voices, synonyms: Synonyms, *, is_known: bool) -> ReferenceHit:
    matched = _reasons_for(found, reference, synonyms)
    if voices.moves:
        matched.append(f"feedback {voices.moves:+.2f} ({voices})")
    relevance = name_relevance(found, is_known=is_known)
    return ReferenceHit(reference, round(found.score + voices.moves, 4), matched, voices.moves, relevance)


def _reasons_for(found: Finding, reference: Reference, synonyms: Synonyms) -> list[str]:
    """Return the reasons of a hit: words of the question it has, words it has synonyms of, or a near meaning."""
    there = set(_WORD.findall(passage_of(reference).casefold()))
    # The search looks for a word and its stem; the reader sees only the word.
    words = [one for one in found.matched if not any(other != one and other.startswith(one) for other in found.matched)]
    direct = [word for word in words if any(one.startswith(word) for one in there)]
    synonymous = {word: sorted(synonyms.get(word, frozenset()) & there) for word in words if word not in direct}
    reasons = [f"words: {', '.join(direct)}"] if direct else []
    reasons += [f"synonym: {word} → {', '.join(others)}" for word, others in synonymous.items() if others]
    return [*reasons, "meaning"] if (found.vector or 0) >= FLOOR or not reasons else reasons

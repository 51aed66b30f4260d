"""Search of references: by exact name first, then by words, synonyms and meaning."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

from django.db.models import Count
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from bigmind.core.limits import QUERY_CHARS
from bigmind.database.rls import rls_bypass
from bigmind.text.hygiene import check_content
from bigmind.text.words import WORD
from knowledge.argument_types import Relevance
from knowledge.exposures.gaps import is_far
from knowledge.exposures.ledgers import Sent, note_sent
from knowledge.exposures.recent_questions import QuestionRecord
from knowledge.models import Feedback, Kind, Reference, Usefulness
from knowledge.models.references import ReferenceQuerySet
from knowledge.references.arguments import CategoryName, CollectionName, TypeName
from knowledge.references.editing import ALL, count_use, note_unanswered
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
from knowledge.references.ranking import (
    FieldScore,
    cards_of,
    cosines_of,
    find_named,
    read_candidates,
    score_fields,
    wish_in,
)
from knowledge.references.texts import passage_of
from knowledge.search.abstention import ALL_WORDS, FLOOR, is_answered, is_strong, may_answer
from knowledge.search.filters import Filters
from knowledge.search.findings import Finding, Findings
from knowledge.search.hybrid import search
from knowledge.search.synonyms import Synonyms
from knowledge.search.typed_names import Request, request_in

RANKED = 20
"""How many hits are read before feedback reorders them: feedback may lift one from beyond the page."""
BY_FIELDS, BY_MEANING, BY_BODY = 0.55, 0.35, 0.1
"""What of a score is names and summary, nearness in meaning, and the share of words anywhere in the text.
Decision 43."""
STEPS = {Usefulness.USEFUL: 0.03, Usefulness.OUTDATED: -0.04, Usefulness.WRONG: -0.06}
"""How far one feedback moves the score of a reference."""
MOST_MOVED = 0.15
"""How far all feedback together moves it: enough to decide between similar answers, not to beat a better fit. It is
added and shown, and multiplies nothing in silently. Decision 18."""


Asked = Annotated[
    str,
    AfterValidator(check_content),
    Field(max_length=QUERY_CHARS, description="What to look for, in plain words."),
]
"""A question that may be empty: then the answer says what to do."""


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
    """A matching reference, and why."""

    reference: Reference
    score: float
    matched_on: Annotated[list[str], Field(description="Exact name, alias, synonym, words, meaning; and feedback.")]
    feedback: Annotated[float, Field(description="How much feedback moved the score.")] = 0.0
    relevance: Relevance = "strong"


@dataclass(frozen=True)
class ReferenceHits:
    """Matching references, best first."""

    items: list[ReferenceHit]
    total: int
    did_you_mean: Annotated[list[str], Field(description="When nothing was found: the nearest names that exist.")] = (
        field(default_factory=list)
    )
    fallback: Annotated[bool, Field(description="True: by words alone, because the embedder is down.")] = False
    reason: str = ""
    notice: Annotated[str, Field(description="What could not be searched by meaning, and why; empty: all was.")] = ""


def search_knowledge(
    actor: Actor,
    *,
    query: Asked,
    type: TypeName = "all",
    category: CategoryName = "",
    collection: CollectionName = "",
    limit: Annotated[int, Field(ge=1, le=50)] = 5,
) -> ReferenceHits:
    """Search the documentation: commands, API endpoints, guides, features, troubleshooting, settings.

    ALWAYS call this before you answer how to do something with a product that is documented here; never make up a
    command, an option or an endpoint. Returns the best first, with what each matched on; where nothing is certain, the
    nearest, marked as weak. When none answers, try list_commands, then say that you have no information.
    """
    if not query.strip():
        return ReferenceHits([], 0, notice="Say what you want to do in a few words; list_commands tells what there is.")
    among = select_collections(collection)
    eligible = _eligible(among, type, category)
    request = request_in(query)
    is_line = request is None and is_command_line(query, among)
    named = _find_named(query, among, request=request, is_line=is_line)
    kept = set(eligible.filter(pk__in=[match.reference.pk for match in named]).values_list("pk", flat=True))
    named = [match for match in named if match.reference.pk in kept]
    # Something is always nearest, and an agent takes a result as confirmation: a line that names nothing finds nothing.
    # Decision 18.
    if not (request or is_line):
        return _by_words_and_meaning(actor, query, among, eligible, named, limit=limit)
    if named:
        return _count_and_return(actor, ReferenceHits([_hit_of(match) for match in named[:limit]], len(named)))
    note_unanswered(actor, query)
    return ReferenceHits([], 0, nearest_references(query, among, request=request))


# Each piece of feedback is a row of its author, and moves what everybody reads.
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
    filters = Filters([Kind.REFERENCE], eligible={Kind.REFERENCE: eligible})
    found = search(query, owner=actor.user, filters=filters, limit=max(RANKED, limit), synonyms=synonyms)
    ranked = _rank_by_fields(query, found, eligible, synonyms)
    is_known = is_answered(found) or any(one.fields.covered >= ALL_WORDS for one in ranked)
    record = QuestionRecord(query, None, found)
    if not (named or is_known):
        note_sent(Sent(actor, question=record))
    # What is far is no answer, unless texts wait for their vectors: then nobody knows that.
    if not (named or is_known or (ranked and (found.notice or not is_far(record)))):
        return ReferenceHits([], 0, nearest_references(query, among), found.fallback, found.reason, found.notice)
    hits = [_hit_of(match) for match in named]
    first = {hit.reference.pk for hit in hits}
    voices = voices_of([one.id for one in ranked[: max(RANKED, limit)]])
    best = [(one, voices.get(one.id, Voices())) for one in ranked if one.id not in first]
    best.sort(key=lambda pair: -round(pair[0].score + pair[1].moves, 4))
    rows = eligible.select_related("collection").in_bulk([one.id for one, _ in best[:limit]])
    shown = [(one, feedback) for one, feedback in best[:limit] if one.id in rows]
    hits += [_hit(one, rows[one.id], feedback, synonyms, is_known=is_known) for one, feedback in shown]
    total = max(found.total, len(best) + len(named))
    nearest = ReferenceHits(hits[:limit], total, [], found.fallback, found.reason, found.notice)
    return _count_and_return(actor, nearest) if named or is_known else nearest


@dataclass(frozen=True)
class _Candidate:
    """A reference that may answer a question: what the search found of it, if anything, and how its fields fit."""

    id: UUID
    score: float
    fields: FieldScore
    found: Finding | None
    vector: float | None
    matched: list[str]


def _rank_by_fields(query: str, found: Findings, eligible: ReferenceQuerySet, synonyms: Synonyms) -> list[_Candidate]:
    """Return what the search found, and what is called as the question says, the best first by fields and meaning."""
    wish = wish_in(query, synonyms)
    named = find_named(wish, eligible)
    by_id = {UUID(item.source_id): item for item in found.items}
    candidates = read_candidates(eligible.filter(pk__in=[*by_id, *map(UUID, named.ids)]))
    near = cosines_of([row.pk for row in candidates], found)
    ranked = []
    for row, card in zip(candidates, cards_of(candidates), strict=True):
        item, fields = by_id.get(row.pk), score_fields(wish, card, named.weights, named.size)
        cosines = [cosine for cosine in (near.get(row.pk), item.vector if item else None) if cosine is not None]
        vector = max(cosines, default=None)
        # What only its names brought in was compared with no text: it is not to rank lower for that.
        body = (item.keyword or 0.0) if item else fields.covered
        parts = [(BY_FIELDS, fields.score), (BY_BODY, body)] + ([(BY_MEANING, vector)] if vector is not None else [])
        score = sum(weight * part for weight, part in parts) / sum(weight for weight, _ in parts)
        ranked.append(_Candidate(row.pk, max(0.0, score), fields, item, vector, wish.words_in(card)))
    places = {id: place for place, id in enumerate([*by_id, *(UUID(id) for id in named.ids)])}
    return sorted(ranked, key=lambda one: (-round(one.score, 4), places[one.id]))


def _count_and_return(actor: Actor, hits: ReferenceHits) -> ReferenceHits:
    count_use(actor, [hit.reference.pk for hit in hits.items])
    return hits


def _hit_of(match: Match) -> ReferenceHit:
    return ReferenceHit(match.reference, 1.0, [match.matched_on])


def _hit(
    ranked: _Candidate, reference: Reference, voices: Voices, synonyms: Synonyms, *, is_known: bool
) -> ReferenceHit:
    matched = _reasons_for(ranked, reference, synonyms)
    if voices.moves:
        matched.append(f"feedback {voices.moves:+.2f} ({voices})")
    relevance: Relevance = "weak"
    if is_known and (ranked.fields.covered >= ALL_WORDS or (ranked.found and is_strong(ranked.found))):
        relevance = "strong"
    elif is_known and ranked.found and may_answer(ranked.found):
        relevance = "related"
    return ReferenceHit(reference, round(ranked.score + voices.moves, 4), matched, voices.moves, relevance)


def _reasons_for(ranked: _Candidate, reference: Reference, synonyms: Synonyms) -> list[str]:
    """Return the reasons of a hit: words of the question it has, words it has synonyms of, or a near meaning."""
    there = set(WORD.findall(passage_of(reference).casefold()))
    # The search looks for a word and its stem; the reader sees only the word.
    known = ranked.found.matched if ranked.found else ranked.matched
    words = [one for one in known if not any(other != one and other.startswith(one) for other in known)]
    direct = [word for word in words if any(one.startswith(word) for one in there)]
    synonymous = {word: sorted(synonyms.get(word, frozenset()) & there) for word in words if word not in direct}
    reasons = [f"words: {', '.join(direct)}"] if direct else []
    reasons += [f"synonym: {word} → {', '.join(others)}" for word, others in synonymous.items() if others]
    return [*reasons, "meaning"] if (ranked.vector or 0) >= FLOOR or not reasons else reasons

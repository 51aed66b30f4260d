"""Neighbours: the approved entries and proposals that are similar to an entry, and those it may contradict."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any

from django.core.cache import cache
from django.db import connection
from pgvector import HalfVector
from pydantic import Field

from bigmind.text.hygiene import CleanTexts
from curation.models import Comparison
from knowledge.embeddings.calls import embed_query
from knowledge.embeddings.providers import EmbedderError, provider
from knowledge.models import UNDECIDED, CompanyEntry, Kind
from knowledge.truth.contradictions import contradictions, differs_in_a_word, may_say_same

NEAR_FROM = 0.48
"""The similarity from which two texts are about the same. Less similar ones are neither shown nor compared.
Decision 28."""
SAME_MEANING, SAME_WORDS = 0.74, 0.8
"""The similarity from which a proposal may say the same as another, if neither denies the other or has other numbers.
What is approved is compared more strictly (`overlaps.SAME_FROM`): nobody is asked about it without a reason."""
SAME_BUT_A_WORD = 0.88
"""The same for two that differ in one word in one place, which may name two things."""
FEW_WORDS = 5
"""A content of fewer words says too little by itself, and is compared together with its title."""
NEAREST = 3
MOST = 8
CANDIDATES = 12
WAITING_COMPARED = 300
"""How many of the newest proposals are compared: opening an entry must not take longer the more there are."""
KEPT_SECONDS = 3600
NEAR = "near:"
"""How the keys of kept vectors begin: removing a text from everything deletes them all."""

# In one statement, because every entry that a curator opens asks it: what is approved and near in meaning or words, the
# proposals that are near in meaning, the newest proposals; and of each the share of the words of both that both have,
# and that of the shorter text that the longer one has, too: they are compared, though a short text within a long one is
# not all of it. The row without a number says whether there was a vector to compare with.
_NEAREST = """
WITH space AS (SELECT id FROM knowledge_embeddingspace WHERE name = %(space)s AND active_since IS NOT NULL),
asked AS (
    SELECT tsvector_to_array(to_tsvector('english', %(text)s)) AS words,
        replace(plainto_tsquery('english', %(text)s)::text, ' & ', ' | ')::tsquery AS any_word
),
approved AS MATERIALIZED (
    SELECT passage.source_id::integer AS id, 1 - (vector.vector <=> %(vector)s::halfvec) AS cosine,
        ts_rank(passage.lexemes, (SELECT any_word FROM asked)) AS rank
    FROM knowledge_passage AS passage LEFT JOIN knowledge_passagevector AS vector
        ON vector.passage_id = passage.id AND vector.space_id = (SELECT id FROM space)
    WHERE passage.owner_id IS NULL AND passage.kind = %(kind)s AND NOT passage.past
),
near AS (
    (SELECT id, cosine FROM approved ORDER BY cosine DESC NULLS LAST LIMIT %(candidates)s)
    UNION ALL
    (SELECT id, cosine FROM approved ORDER BY rank DESC LIMIT %(candidates)s)
    UNION ALL
    (SELECT entry_id, 1 - (vector <=> %(own_vector)s::halfvec)
     FROM curation_comparison JOIN knowledge_companyentry AS entry ON entry.id = entry_id
     WHERE status = ANY(%(waiting)s) AND space = %(own_space)s AND vector IS NOT NULL
     ORDER BY vector <=> %(own_vector)s::halfvec LIMIT %(candidates)s)
    UNION ALL
    (SELECT id, NULL FROM knowledge_companyentry
     WHERE status = ANY(%(waiting)s) ORDER BY created_at DESC LIMIT %(most)s)
),
compared AS (SELECT id, max(cosine) AS cosine FROM near WHERE id <> %(entry)s GROUP BY id),
theirs AS (
    SELECT id, compared.cosine, tsvector_to_array(to_tsvector('english', entry.title || ' ' || entry.content)) AS words
    FROM knowledge_companyentry AS entry JOIN compared USING (id)
),
counted AS (
    SELECT id, cosine, cardinality(asked.words) AS ours, cardinality(theirs.words) AS theirs,
        cardinality(ARRAY(SELECT unnest(asked.words) INTERSECT SELECT unnest(theirs.words))) AS shared
    FROM theirs, asked
)
SELECT id, coalesce(cosine, 0), CASE WHEN shared > 1 THEN 2.0 * shared / (ours + theirs) ELSE 0 END,
    CASE WHEN shared > 1 THEN shared::float / least(ours, theirs) ELSE 0 END FROM counted
UNION ALL
SELECT NULL, count(*), 0, 0 FROM space
"""


@dataclass(frozen=True)
class Neighbour:
    """An entry similar in meaning or words."""

    entry: CompanyEntry
    similarity: float
    by_meaning: bool
    contradictions: Annotated[list[str], Field(description="What the two may disagree on.")]
    says_same: bool = False

    @property
    def is_pair(self) -> bool:
        """Whether a curator should decide about both together."""
        return self.says_same or bool(self.contradictions)

    @property
    def percent(self) -> int:
        return round(self.similarity * 100)


@dataclass(frozen=True)
class Neighbours:
    """Similar entries, the most similar first. `fallback`: without vectors, only words were compared."""

    approved: list[Neighbour]
    waiting: list[Neighbour]
    fallback: bool
    compared: Comparison


@dataclass(frozen=True)
class Nearness:
    """The similarity of other entries, in meaning and words, by their numbers: those similar enough to compare."""

    entry: CompanyEntry
    cosines: Mapping[int, float]
    words: Mapping[int, float]
    fallback: bool
    compared: Comparison

    def describe(self, others: Iterable[CompanyEntry]) -> Neighbours:
        """Return the nearest of these entries, and all that the entry may contradict or repeat."""
        near = [
            _neighbour(self.entry, other, self.cosines[other.pk], self.words[other.pk])
            for other in others
            if other.pk in self.cosines
        ]
        near.sort(key=lambda neighbour: (-neighbour.similarity, -neighbour.entry.pk))
        return Neighbours(
            approved=_pick_shown([one for one in near if one.entry.is_approved]),
            waiting=_pick_shown([one for one in near if one.entry.is_undecided]),
            fallback=self.fallback,
            compared=self.compared,
        )


def neighbours_of(entry: CompanyEntry) -> Neighbours:
    """Return the entries most similar to one, approved and pending, and all that it may contradict."""
    near = measure_nearness(entry)
    return near.describe(CompanyEntry.objects.filter(pk__in=near.cosines).select_related("proposed_by", "owner"))


def contradicting(entry: CompanyEntry) -> list[Neighbour]:
    """Return the approved entries that may contradict one."""
    near = measure_nearness(entry)
    approved = CompanyEntry.objects.approved().filter(pk__in=near.cosines).only("title", "content", "project", "status")
    return [neighbour for neighbour in near.describe(approved).approved if neighbour.contradictions]


def measure_nearness(entry: CompanyEntry) -> Nearness:
    """Return which entries are near to one, and how near."""
    own = _comparison_of(entry)
    vector = own.titled_vector
    parameters: dict[str, Any] = {
        "text": entry.text,
        "entry": entry.pk or 0,
        "kind": Kind.COMPANY,
        "space": provider().space if vector is not None else "",
        "vector": _as_text(vector),
        "own_space": own.space,
        "own_vector": _as_text(own.vector),
        "waiting": list(UNDECIDED),
        "candidates": CANDIDATES,
        "most": WAITING_COMPARED,
    }
    with connection.cursor() as cursor:
        cursor.execute(_NEAREST, parameters)
        found = {number: scores for number, *scores in cursor.fetchall()}
    spaces, *_ = found.pop(None)
    near = {number: scores for number, scores in found.items() if max(scores) >= NEAR_FROM}
    cosines, words = ({number: scores[part] for number, scores in near.items()} for part in (0, 1))
    return Nearness(entry, cosines, words, fallback=not spaces, compared=own)


def _pick_shown(neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    nearest = [one for one in neighbours if one.similarity >= NEAR_FROM][:NEAREST]
    return [*nearest, *(one for one in neighbours if one.is_pair and one not in nearest)][:MOST]


def _neighbour(entry: CompanyEntry, other: CompanyEntry, by_vector: float, by_words: float) -> Neighbour:
    similarity = round(min(1.0, max(by_vector, by_words)), 3)
    by_meaning = by_vector >= by_words
    # An entry of one project neither contradicts nor repeats an entry of another one.
    if entry.project and other.project and entry.project != other.project:
        return Neighbour(other, similarity, by_meaning, [])
    hints = _agreeing.unless_known(contradictions, entry.text, other.text)
    is_near = by_vector >= SAME_MEANING or by_words >= SAME_WORDS
    compare = _say_same if by_vector >= SAME_BUT_A_WORD else _say_same_in_each_word
    is_same = is_near and not hints and bool(_different[compare].unless_known(compare, entry.content, other.content))
    return Neighbour(other, similarity, by_meaning, hints, is_same)


def _say_same(one: str, other: str) -> list[bool]:
    return [True] if may_say_same(one, other) else []


def _say_same_in_each_word(one: str, other: str) -> list[bool]:
    return [] if differs_in_a_word(one, other) else _say_same(one, other)


# Most pairs neither contradict nor repeat each other, and opening an entry compares it with dozens of others.
_agreeing, _different = CleanTexts(), {_say_same: CleanTexts(), _say_same_in_each_word: CleanTexts()}


def _comparison_of(entry: CompanyEntry) -> Comparison:
    """Return the vectors by which an entry is compared: with proposals that of its content, with what is approved that
    of title and content. The stored ones if they are of this text."""
    known: Comparison | None = getattr(entry, "comparison", None)
    if known and known.revision == entry.revision and known.vector and known.space == provider().space:
        known.titled_vector = known.titled_vector or _embed(entry.text)
        return known
    made = Comparison(entry=entry, revision=entry.revision, titled_vector=_embed(entry.text))
    # Without the title, which words the subject differently, two texts that say the same are more similar.
    made.vector = _embed(entry.content if len(entry.content.split()) >= FEW_WORDS else entry.text)
    made.space = provider().space if made.vector else ""
    return made


def _as_text(vector: HalfVector | list[float] | None) -> str | None:
    if vector is None:
        return None
    return (vector if isinstance(vector, HalfVector) else HalfVector(vector)).to_text()


def _embed(text: str) -> list[float] | None:
    """Return the vector of a text; None where the embedder fails: then words alone are compared.

    It is kept for an hour, because a page that is read ahead, opened and decided on asks for it each time.
    """
    key = f"{NEAR}{provider().space}:{sha256(text.encode()).hexdigest()}"
    vector: list[float] | None = cache.get(key)
    if vector is None:
        with suppress(EmbedderError):
            vector = embed_query(provider(), text).vectors[0].tolist()
            cache.set(key, vector, KEPT_SECONDS)
    return vector

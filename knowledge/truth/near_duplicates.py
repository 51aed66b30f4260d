"""Near-duplicates: what a new text repeats, contradicts or may replace. Nothing is merged, and nothing is refused.

Storing a fact waits for one quick look: what has nearly the same words. The full comparison, by meaning, follows in a
worker once the fact has its vector, and the conversation that stored it receives the result with its next reply. An
entry of the knowledge base is compared by words and by meaning before the reply.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import QuerySet
from pgvector import HalfVector
from rapidfuzz import fuzz, process, utils

from accounts.models import User
from bigmind.core.handles import handle_of
from bigmind.core.load_once import load_once
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from knowledge.embeddings.providers import EmbedderError, TokenEmbedder, provider
from knowledge.kinds import KINDS
from knowledge.models import CompanyEntry, EmbeddingSpace, Entry, Fact, Kind, Passage, PassageVector, Recall
from knowledge.search.filters import Filters, scope_of_owner, scopes_of
from knowledge.search.frequencies import rarest
from knowledge.search.hybrid import cosines
from knowledge.search.language_identification import language_of
from knowledge.search.retrievers import lexemes_of, merge_candidates, retrieve_by_meaning, retrieve_by_words
from knowledge.truth.contradictions import contradictions, differs_in_a_word, may_say_same

ALIKE_IN_WORDS = 90.0
"""Of 100, whatever the order of the words: one word more or less in a sentence, another number, another spelling."""
SAME_MEANING = 0.78
"""Cosine from which two texts say nearly the same. Fitted on half A of `benchmarks/truth`, as the other two are."""
SAME_SUBJECT = 0.58
"""Cosine from which the nearest is named, for the new text may replace it."""
COMPARABLE = 0.43
"""Cosine from which two texts may be about the same, so that they can contradict each other."""
COMPARED = 8
ARCHIVED_COMPARED = 200
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
# What has all but one of the longest words of a text: GIN reads the two rarest of them, and checks the others. What
# was archived and the profile are not indexed, but few.
_ALIKE = """
WITH word AS (
    SELECT array_agg(quote_literal(lexeme)) AS each FROM (
        SELECT lexeme FROM unnest(to_tsvector('english', %(text)s)) ORDER BY length(lexeme) DESC, lexeme LIMIT 12
    ) AS longest
), sought AS (
    SELECT coalesce(
        (SELECT string_agg(array_to_string(array_remove(each, one), ' & '), ' | ') FROM unnest(each) AS one
            WHERE cardinality(each) > 1),
        array_to_string(each, ' & ')
    )::tsquery AS words FROM word
)
(SELECT kind, source_id, '' FROM knowledge_passage WHERE owner_id = %(owner)s AND kind = 'fact'
    AND source_id <> %(fact)s AND NOT past AND lexemes @@ (SELECT words FROM sought) ORDER BY id DESC LIMIT %(most)s)
UNION ALL
(SELECT kind, source_id, '' FROM knowledge_passage WHERE owner_id IS NULL AND kind = 'company'
    AND NOT past AND lexemes @@ (SELECT words FROM sought) ORDER BY id DESC LIMIT %(most)s)
UNION ALL
(SELECT 'archived', id::text, CASE WHEN digest = %(digest)s THEN %(text)s ELSE fact END FROM knowledge_fact
    WHERE user_id = %(owner)s AND deprecated_at IS NOT NULL AND id <> %(fact)s::bigint
    ORDER BY digest <> %(digest)s, deprecated_at DESC LIMIT %(archived)s)
UNION ALL
(SELECT 'profile', 'pinned facts', line FROM accounts_profile, unnest(pinned_facts) AS line WHERE user_id = %(owner)s)
UNION ALL
(SELECT 'profile', 'preferences', line
    FROM accounts_profile, regexp_split_to_table(preferences, '\\s*\\n\\s*') AS line WHERE user_id = %(owner)s)
"""
_KEPT = "truth:kept"
DAY = 24 * 60 * 60
CONTRADICTS, SAME, RELATED = "contradicts", "same", "related"
Source = tuple[str, str]
"""The kind and the id of what a passage is a piece of."""
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


def compare_entry(entry: Entry, *, owner: User) -> list[Similar]:
    """Return what a new text of an entry repeats, contradicts or may replace.

    Ask before the entry is indexed: it would find itself.
    """
    sought, filters = entry.content[:SOUGHT_CHARS], Filters([Kind.ENTRY])
    if provider().is_local:
        near = cosines(sought, owner=owner, filters=filters, limit=COMPARED)
    else:
        near = _find_by_words(sought, filters, owner)
    return _choose(_relations(entry, {(str(Kind.ENTRY), id): cosine for id, cosine in near.items()}))


class QuickLook(NamedTuple):
    """What has nearly the same words as a new fact.

    Attributes:
        near: Current facts of its owner and company knowledge that may have.
        archived: The id of the fact that its owner archived last, of those that have.
        in_profile: The part of the profile that has; empty if none does.
    """

    near: list[Source]
    archived: int | None
    in_profile: str


def look_for(fact: Fact) -> QuickLook:
    """Return what has nearly the same words as a fact: one statement, some milliseconds."""
    values = {"text": fact.fact[:SOUGHT_CHARS], "digest": fact.digest, "owner": fact.user_id, "fact": str(fact.pk)}
    most: dict[str, Any] = {"most": COMPARED, "archived": ARCHIVED_COMPARED}
    with connection.cursor() as cursor:
        cursor.execute(_ALIKE, most | values)
        rows = cursor.fetchall()
    alike = {kind: id for kind, id, text in reversed(rows) if text and is_worded_alike(text, fact.fact)}
    archived = int(alike["archived"]) if "archived" in alike else None
    near = [(kind, id) for kind, id, _ in rows if kind in {Kind.FACT, Kind.COMPANY}]
    return QuickLook(near, archived, alike.get("profile", ""))


def compare_by_words(fact: Fact, near: Iterable[Source], kept: Collection[int] = ()) -> list[Similar]:
    """Return what a new fact repeats or contradicts of what has nearly its words, and label it."""
    return _label(fact, _choose(_relations(fact, dict.fromkeys(near))), kept)


def _find_by_words(text: str, filters: Filters, owner: User) -> dict[str, float | None]:
    [scope] = scopes_of(owner, filters.kinds)
    words = rarest(lexemes_of(text), scope)[:SOUGHT_WORDS]
    [found] = merge_candidates([retrieve_by_words(words, filters, scope, few=False).candidates])
    return dict.fromkeys([candidate.source_id for candidate in found.values()][:COMPARED])


def _relations(thing: Fact | Entry, near: Mapping[Source, float | None]) -> Iterator[Similar]:
    """Yield how each of these stands to a thing.

    Rows that someone is changing are left out: to link to them would mean to wait for them, and they may wait for us.

    Args:
        near: How near each is in meaning; None where that is not known.
    """
    text = _text_of(thing)
    for kind in sorted({kind for kind, _ in near}):
        rows = _comparable(thing, kind).filter(pk__in=[id for of, id in near if of == kind])
        # What may be linked to is locked; nothing links to company knowledge.
        for row in rows.select_for_update(skip_locked=True, no_key=True, of=("self",)) if kind in _POINTING else rows:
            # What belongs to another project can hold beside it, and so can what holds at another time.
            is_elsewhere = bool(thing.project and row.project) and thing.project.casefold() != row.project.casefold()
            can_contradict = not is_elsewhere and _may_hold_together(thing, row)
            known, cosine = _text_of(row), near[kind, str(row.pk)]
            if found := relation_of(text, known, cosine, can_contradict=can_contradict):
                relation, similarity, hints = found
                yield Similar(Kind(kind), row.pk, round(similarity, 2), known[:EXCERPT_CHARS], relation, hints)


def _comparable(thing: Fact | Entry, kind: str) -> QuerySet[Any]:
    if kind == Kind.COMPANY:
        return CompanyEntry.objects.approved()
    if isinstance(thing, Fact):
        return Fact.objects.of(thing.user_id).current().exclude(pk=thing.pk)
    return Entry.objects.exclude(pk=thing.pk)


def _text_of(thing: Fact | Entry | CompanyEntry) -> str:
    return thing.fact if isinstance(thing, Fact) else thing.content


def _may_hold_together(thing: Fact | Entry, other: Any) -> bool:
    if not isinstance(thing, Fact):
        return True
    return thing.overlaps(other) if isinstance(other, Fact) else not thing.is_past


def _label(fact: Fact, similar: list[Similar], kept: Collection[int]) -> list[Similar]:
    """Label the facts that a new one may contradict, and link it to the one that it repeats.

    Labelled facts are served as before, until someone says which is true. Return what is not kept beside it.
    """
    similar = [one for one in similar if one.kind != Kind.FACT or one.id not in kept]
    own = [one for one in similar if one.kind == Kind.FACT]
    if against := [one.id for one in own if one.contradicts]:
        Fact.objects.filter(pk__in=against).update(contradicted_by=fact)
    same = [one.id for one in own if one.relation == SAME]
    if same and fact.similar_to_id is None:
        fact.similar_to_id = same[0]
        fact.save(update_fields=["similar_to"])
    return similar


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


def _choose(similar: Iterable[Similar]) -> list[Similar]:
    """Return contradictions, then repetitions, and where there is neither the one that is nearest."""
    ordered = sorted(similar, key=lambda one: (-one.similarity, one.kind, one.id))
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
    # What someone is changing is left to the next run. To wait for it while holding what they wait for, a thing or its
    # passages, would be a deadlock.
    waiting = Passage.objects.filter(pk=passage_id, owner=owner_id, compared=False)
    passage = waiting.select_for_update(of=("self",), no_key=True, skip_locked=True).first()
    if passage is None or not _compare_by_meaning(space, passage):
        return False
    waiting.update(compared=True)
    return True


def _compare_by_meaning(space: EmbeddingSpace, passage: Passage) -> bool:
    """Compare a thing by its vector with what is older; return whether nobody was changing any of it."""
    things: QuerySet[Any] = _POINTING[passage.kind]._default_manager.filter(pk=passage.source_id)
    thing = things.select_for_update(no_key=True, skip_locked=True, of=("self",)).first()
    if thing is None or passage.past:
        return passage.past or not things.exists()
    near = find_near(space, passage)
    # Locked one after the other, but never waited for.
    linked = _comparable(thing, passage.kind).filter(pk__in=[id for kind, id in near if kind == passage.kind])
    if len(linked.select_for_update(no_key=True, skip_locked=True, of=("self",)).values_list("pk")) < linked.count():
        return False
    similar = _choose(_relations(thing, near))
    if isinstance(thing, Fact):
        alike = look_for(thing).near
        found = _label(thing, similar, cache.get(f"{_KEPT}:{thing.pk}", []))
        _announce(thing, [one for one in found if (str(one.kind), str(one.id)) not in alike])
    elif thing.similar_to_id is None and (same := next((one for one in similar if one.relation != RELATED), None)):
        things.update(similar_to=same.id)
    return True


def find_near(space: EmbeddingSpace, passage: Passage, *, newer: bool = False) -> dict[Source, float]:
    """Return the things of its kind, and of facts the company knowledge, that are nearest to a passage, by its vector.

    Args:
        newer: Whether newer ones of its kind are meant, too: they are compared with it when their turn comes.
    """
    vectors = PassageVector.objects.filter(passage=passage, space=space, owner=passage.owner_id).exclude(vector=None)
    near: dict[Source, float] = {}
    for vector in filter(None, vectors.values_list("vector", flat=True)):
        for kind in (passage.kind, Kind.COMPANY) if passage.kind == Kind.FACT else (passage.kind,):
            scope = scope_of_owner(passage.owner if kind == passage.kind else None)
            found = retrieve_by_meaning(HalfVector(vector), space, Filters([Kind(kind)]), scope, few=False)
            meant = [one for one in found if newer or kind == Kind.COMPANY or one.passage < passage.pk]
            nearest = {(one.kind, one.source_id): one.score for one in reversed(meant) if one.score >= COMPARABLE}
            nearest.pop((passage.kind, passage.source_id), None)
            near |= dict(sorted(nearest.items(), key=lambda pair: -pair[1])[:COMPARED])
    return near


def find_repetitions(fact: Fact) -> list[Similar]:
    """Return what says nearly the same as a stored fact: by its vector, or by its words while it has none."""
    space = EmbeddingSpace.objects.exclude(active_since=None).order_by("-active_since").first()
    passage = Passage.objects.filter(kind=Kind.FACT, source_id=str(fact.pk), owner=fact.user_id, ordinal=0).first()
    near = find_near(space, passage, newer=True) if space and passage else {}
    similar = _relations(fact, near or dict.fromkeys(look_for(fact).near))
    return [one for one in similar if one.kind == Kind.FACT and one.relation == SAME]


def _announce(fact: Fact, similar: Sequence[Similar]) -> None:
    """Let the session that stored a fact receive with its next reply what it repeats, contradicts or may replace."""
    session = fact.source_session
    if similar and session and session.is_open:
        handle = handle_of(Kind.FACT, str(fact.pk))
        found = {"fact": fact.pk, "near": [(one.kind, one.id, one.relation, one.similarity) for one in similar]}
        Recall.objects.create(session=session, user=fact.user, agent_id=session.agent_id, handle=handle, found=found)


def read_comparison(found: Any) -> tuple[Fact, list[Similar]] | None:
    """Return the fact that a worker compared, and what it found, as both are now; None where nothing is left to say."""
    fact = Fact.objects.current().filter(pk=found["fact"]).first()
    if fact is None:
        return None
    similar = []
    for kind, id, relation, similarity in found["near"]:
        if row := _comparable(fact, kind).filter(pk=id).first():
            known = _text_of(row)
            hints = contradictions(fact.fact, known) if relation == CONTRADICTS else []
            similar.append(Similar(Kind(kind), row.pk, similarity, known[:EXCERPT_CHARS], relation, hints))
    return (fact, similar) if similar else None


def keep_beside(fact_id: int, ids: Collection[int]) -> None:
    """Remember that these facts hold beside one that has no vector yet: a worker compares it once it has one."""
    if ids:
        cache.set(f"{_KEPT}:{fact_id}", list(ids), DAY)


def find_worded_alike(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of those pairs of texts that have nearly the same words, the earlier place first."""
    words = [" ".join(sorted(utils.default_process(text[:COMPARED_CHARS]).split())) for text in texts]
    scores = process.cdist(words, words, scorer=fuzz.ratio, score_cutoff=ALIKE_IN_WORDS)
    return [(int(one), int(other)) for one, other in zip(*scores.nonzero(), strict=True) if one < other]


def is_worded_alike(one: str, other: str) -> bool:
    """Return whether two texts have nearly the same words, whatever their order."""
    return _likeness(one, other) >= ALIKE_IN_WORDS


def says_the_same(one: str, other: str) -> bool:
    """Return whether two texts have nearly the same words, and differ in nothing that counts: no port, day or “not”."""
    return is_worded_alike(one, other) and may_say_same(one, other) and not differs_in_a_word(one, other)


def _likeness(one: str, other: str) -> float:
    return fuzz.token_sort_ratio(
        one[:COMPARED_CHARS],
        other[:COMPARED_CHARS],
        processor=utils.default_process,
        score_cutoff=ALIKE_IN_WORDS,
    )

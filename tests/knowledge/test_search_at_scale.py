"""Search at scale: large scopes are asked through an index, and find what looking at every passage would find."""

import itertools

import numpy as np
import pytest
from django.db import connection, transaction
from pgvector import HalfVector

from accounts.models import User
from bigmind.core.text import digest
from knowledge.embeddings.hashing import Hashing
from knowledge.embeddings.providers import provider
from knowledge.models import EmbeddingSpace, Entry, Kind, Passage, PassageVector
from knowledge.search import filters, indexes
from knowledge.search import retrievers as arms
from knowledge.search.filters import Filters
from knowledge.search.frequencies import count_words, forget_statistics, selective_words
from knowledge.search.indexes import keep_statistics, scope_of_owner
from knowledge.search.retrievers import retrieve_by_meaning, retrieve_by_words
from knowledge.search.spelling import forget_vocabularies
from knowledge.services.embedding import embed_pending, progress, space_of, start_again
from knowledge.services.entries import add_entry
from knowledge.services.entry_reading import search_entries
from tests.factories import make_actor

DIMENSIONS = Hashing.dimensions
QUESTIONS = 10
_numbers = itertools.count(1)
WORDS = ["deploy", "router", "vercel", "schema", "billing", "invoice", "retry", "cache", "session", "queue", "worker"]


@pytest.fixture
def _large_from_1000(monkeypatch):
    monkeypatch.setattr(indexes, "LARGE", 1_000)
    monkeypatch.setattr(filters, "FEW", 100)
    forget_statistics()
    forget_vocabularies()
    yield
    forget_statistics()
    forget_vocabularies()


@pytest.fixture
def _no_indexes_left():
    yield
    for space in EmbeddingSpace.objects.all():
        indexes.drop_indexes(space)


@pytest.fixture
def at_scale(transactional_db, _no_indexes_left, _large_from_1000):
    """Build indexes as in earnest: outside a transaction, concurrently."""


def _vectors(count: int, seed: int) -> np.ndarray:
    """Clustered unit vectors, the same every time: like texts, most have neighbours."""
    numbers = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((50, DIMENSIONS))
    drawn = centres[numbers.integers(len(centres), size=count)] + 0.7 * numbers.standard_normal((count, DIMENSIONS))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _remember(count: int, *, owner: User | None = None, tagged_every: int = 0) -> EmbeddingSpace:
    """Store so many passages with vectors; shared ones are entries, every so many of them with the tag `rare`."""
    space = space_of(provider())
    kind = Kind.ENTRY if owner is None else Kind.FACT
    texts = [f"{WORDS[n % len(WORDS)]} the {WORDS[n * 7 % 5]} number {n}" for n in range(count)]
    ids = [str(next(_numbers)) for _ in range(count)]
    if owner is None:
        entries = [
            Entry(content=text, digest=f"{n}", tags=["rare"] if tagged_every and n % tagged_every == 0 else ["usual"])
            for n, text in enumerate(texts)
        ]
        Entry.objects.bulk_create(entries)
        ids = [str(entry.pk) for entry in entries]
    passages = Passage.objects.bulk_create(
        Passage(kind=kind, source_id=id, owner=owner, text=text, digest=digest(text))
        for id, text in zip(ids, texts, strict=True)
    )
    PassageVector.objects.bulk_create(
        PassageVector(passage=passage, space=space, owner=owner, vector=HalfVector(row.tolist()))
        for passage, row in zip(passages, _vectors(count, seed=count), strict=True)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return space


def _recall(space: EmbeddingSpace, wanted: Filters, owner: User | None, *, top: int = 50) -> float:
    """What part of the nearest, found by looking at every passage, the search finds as well."""
    scope = scope_of_owner(owner)
    shares = []
    for row in _vectors(QUESTIONS, seed=99):
        with transaction.atomic():
            vector = HalfVector(row.tolist())
            exact = retrieve_by_meaning(vector, space, wanted, scope, few=True)[:top]
            few = scope.is_large and wanted.leave_few(scope)
            found = {one.passage for one in retrieve_by_meaning(vector, space, wanted, scope, few=few)[:top]}
        shares.append(sum(one.passage in found for one in exact) / len(exact))
    return sum(shares) / len(shares)


@pytest.mark.parametrize(("size", "is_large"), [(64, False), (900, False), (2_000, True)])
@pytest.mark.parametrize("is_shared", [True, False])
def test_the_nearest_are_found_at_every_size_of_a_scope(at_scale, size, is_large, is_shared):
    owner = None if is_shared else make_actor().user
    space = _remember(size, owner=owner)
    _remember(50, owner=make_actor().user)

    made = indexes.keep_indexes()

    assert (len(made) == 1) is is_large
    assert _recall(space, Filters(Kind.values, shared=is_shared), owner) >= 0.99


@pytest.mark.parametrize("every", [2, 10, 40, 600])
def test_filters_leave_the_nearest_of_what_passes_however_little_that_is(at_scale, every):
    space = _remember(1_500, tagged_every=every)
    indexes.keep_indexes()
    rare = Filters([Kind.ENTRY], shared=True, eligible={Kind.ENTRY: Entry.objects.filter(tags__contains=["rare"])})

    assert _recall(space, rare, None, top=min(50, 1_500 // every)) >= 0.99


def test_a_filter_that_says_little_by_itself_still_finds_all_it_should(at_scale):
    """The tag is far from every question: the index gives out before it has enough, and everything is looked at."""
    space = _remember(1_500)
    indexes.keep_indexes()
    question = _vectors(1, seed=99)[0]
    far = [row for row in PassageVector.objects.select_related("passage") if np.dot(row.vector, question) < 0.2]
    eligible = Entry.objects.filter(pk__in=[row.passage.source_id for row in far])
    wanted = Filters([Kind.ENTRY], shared=True, eligible={Kind.ENTRY: eligible})

    with transaction.atomic():
        found = retrieve_by_meaning(HalfVector(question.tolist()), space, wanted, scope_of_owner(None), few=False)

    nearest = sorted(far, key=lambda row: -np.dot(row.vector, question))[: len(found)]
    assert len(found) == arms.CANDIDATES
    assert len({one.passage for one in found} & {row.passage_id for row in nearest}) >= 0.99 * len(found)


def test_a_large_scope_is_asked_through_its_index_and_a_small_one_is_not(at_scale):
    space = _remember(1_200)
    owner = make_actor().user
    _remember(100, owner=owner)
    indexes.keep_indexes()
    vector = HalfVector(_vectors(1, seed=99)[0].tolist())

    def plan(wanted: Filters, person: User | None) -> str:
        with _explained() as plans, transaction.atomic():
            retrieve_by_meaning(vector, space, wanted, scope_of_owner(person), few=False)
        return "\n".join(plans)

    assert f"Index Scan using knowledge_near_{space.pk}_shared" in plan(Filters([Kind.ENTRY], shared=True), None)
    assert "knowledge_near" not in plan(Filters([Kind.FACT]), owner)


def test_a_large_scope_is_asked_for_pairs_of_characters_as_words_that_its_index_has(at_scale):
    _remember(1_200)
    indexes.keep_indexes()
    entry = add_entry(make_actor(), content="会議は毎週月曜日の午前十時から始まります。", entry_type="fact")
    wanted = Filters([Kind.ENTRY], shared=True)

    with _explained() as plans, transaction.atomic():
        found = retrieve_by_words(["会議", "何曜"], wanted, scope_of_owner(None), few=False)

    assert [one.source_id for one in found.candidates] == [str(entry.id)]
    conditions = [line for line in plans if "Filter:" in line or "Cond:" in line]
    assert any("lexemes @@" in line for line in conditions)
    assert not any("strpos" in line for line in conditions)


def test_a_kind_with_few_things_in_a_large_scope_is_looked_at_thing_by_thing(at_scale):
    """Its index is over all kinds: it would be walked to its end for the few, or for none at all."""
    _remember(1_200)
    indexes.keep_indexes()
    scope = scope_of_owner(None)

    assert scope.is_large
    assert Filters([Kind.COMPANY], shared=True).leave_few(scope)
    assert not Filters([Kind.ENTRY], shared=True).leave_few(scope)


def test_indexes_come_and_go_with_what_they_are_for(at_scale):
    space = _remember(1_200)

    made = indexes.keep_indexes()
    again = indexes.keep_indexes()
    PassageVector.objects.filter(pk__in=PassageVector.objects.values("pk")[:500]).delete()
    still_large = indexes.keep_indexes()
    PassageVector.objects.filter(pk__in=PassageVector.objects.values("pk")[:400]).delete()
    dropped = indexes.keep_indexes()

    assert made == dropped == [f"knowledge_near_{space.pk}_shared"]
    assert again == still_large == []
    assert not scope_of_owner(None).is_large


def test_all_vectors_are_made_anew_without_the_indexes_that_would_slow_each_change_down(at_scale):
    _remember(1_200)
    indexes.keep_indexes()

    start_again(batch_size=100, clear_cache=False)
    asked = scope_of_owner(None).is_large, PassageVector.objects.filter(trouble="").count()
    embed_pending()
    made = scope_of_owner(None).is_large, progress()

    assert asked == (True, 1_200)
    assert (made[0], made[1].processed) == (False, 1_200)
    assert len(indexes.keep_indexes()) == 1


def test_only_one_process_at_a_time_keeps_the_indexes(at_scale):
    _remember(1_200)
    other = connection.copy()

    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [indexes.LOCK])
        made = indexes.keep_indexes()
    other.close()

    assert made == []


def test_in_a_large_scope_words_that_stand_everywhere_are_not_looked_up(at_scale, monkeypatch):
    _remember(1_500)
    indexes.keep_indexes()
    monkeypatch.setattr("knowledge.search.frequencies.MATCHED", 600)

    words = ["the", "number", "1234", "deploy"]

    telling = selective_words(words, scope_of_owner(None))
    found = retrieve_by_words(words, Filters([Kind.ENTRY], shared=True), scope_of_owner(None), few=False).candidates

    assert "the" not in telling
    assert set(telling) == {"1234", "deploy"}
    assert Passage.objects.get(pk=found[0].passage).text.endswith("number 1234")


def test_what_others_write_changes_nothing_of_how_words_weigh_in_a_large_scope(at_scale):
    person, other = make_actor(), make_actor()
    _remember(1_500, owner=person.user)
    indexes.keep_indexes()
    scope = scope_of_owner(person.user)
    before = count_words(["deploy", "router", "xylotherm"], scope)

    _remember(1_500, owner=other.user)
    Passage.objects.filter(owner=other.user).update(text="Xylotherm and the router.")
    keep_statistics()
    forget_statistics()
    forget_vocabularies()

    assert count_words(["deploy", "router", "xylotherm"], scope) == before
    assert before[0]


def test_a_search_of_the_knowledge_base_keeps_to_its_filters_in_a_large_scope(at_scale):
    actor = make_actor()
    _remember(1_500, tagged_every=30)
    indexes.keep_indexes()

    found = search_entries(actor, query="deploy the router", tags=["rare"], limit=50)
    unsure = search_entries(actor, query="deploy the router", min_confidence=1.0, limit=50)

    assert {hit.entry.tags[0] for hit in found.items} == {"rare"}
    assert len(found.items) == 50
    assert len(unsure.items) == 50


class _explained:
    """What PostgreSQL plans for the queries within."""

    def __enter__(self) -> list[str]:
        self.plans: list[str] = []
        self.wrapper = connection.execute_wrapper(self._explain)
        self.wrapper.__enter__()
        return self.plans

    def __exit__(self, *error: object) -> None:
        self.wrapper.__exit__(*error)

    def _explain(self, execute, sql, params, many, context):
        if "FROM knowledge_passage" in sql and not sql.startswith("EXPLAIN"):
            execute(f"EXPLAIN {sql}", params, many, context)
            self.plans += [row[0] for row in context["cursor"].fetchall()]
        return execute(sql, params, many, context)

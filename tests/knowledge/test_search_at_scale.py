"""Search at scale: large scopes are asked through an index, and find what looking at every passage would find."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from django.db import connection, transaction
from pgvector import HalfVector

from accounts.models import User
from bigmind.text.hygiene import digest
from knowledge.embeddings.hashing import Hashing
from knowledge.embeddings.providers import provider
from knowledge.indexing.embedding import space_of
from knowledge.kb.entries import add_entry
from knowledge.kb.entry_reading import search_entries
from knowledge.models import EmbeddingSpace, Entry, Kind, Passage, PassageVector
from knowledge.search import filters, indexes
from knowledge.search import retrievers as arms
from knowledge.search.filters import Filters, Scope, scope_of_owner
from knowledge.search.frequencies import count_words, forget_statistics, selective_words
from knowledge.search.retrievers import retrieve_by_meaning, retrieve_by_words
from knowledge.search.spelling import forget_vocabularies
from tests.conftest import _empty_database
from tests.factories import make_actor

DIMENSIONS = Hashing.dimensions
QUESTIONS = 10
SHARED = 1_500
TAGGED = (2, 10, 30, 600)
_numbers = itertools.count(1)
WORDS = ["deploy", "router", "vercel", "schema", "billing", "invoice", "retry", "cache", "session", "queue", "worker"]


@contextmanager
def large_from(size: int) -> Iterator[None]:
    """Let scopes of so many vectors be large, and drop the indexes that were built for them."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (indexes, filters):
            patch.setattr(module, "LARGE", size)
        patch.setattr(filters, "FEW", 100)
        forget_statistics()
        yield
        for space in EmbeddingSpace.objects.all():
            indexes.drop_indexes(space)
    forget_statistics()
    forget_vocabularies()


@dataclass(frozen=True)
class World:
    """A large shared scope, a large one and smaller ones of people, with the indexes that they need."""

    space: EmbeddingSpace
    owners: Mapping[int, User | None]


@pytest.fixture(scope="module")
def _built(django_db_setup, django_db_blocker) -> Iterator[World]:
    with django_db_blocker.unblock():
        with large_from(1_000):
            owners = {64: make_actor().user, 900: make_actor().user, 1_000: make_actor().user, SHARED: None}
            for size, owner in owners.items():
                space = remember(size, owner=owner)
            made = indexes.keep_indexes()
            assert len(made) == 2
            yield World(space, owners)
        _empty_database()


@pytest.fixture
def world(_built: World, db: None) -> World:
    """Read what is built once for all; what a test adds goes with its transaction."""
    forget_statistics()
    return _built


def _vectors(count: int, seed: int) -> np.ndarray:
    """Clustered unit vectors, the same every time: like texts, most have neighbours."""
    numbers = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((50, DIMENSIONS))
    drawn = centres[numbers.integers(len(centres), size=count)] + 0.7 * numbers.standard_normal((count, DIMENSIONS))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def remember(count: int, *, owner: User | None = None) -> EmbeddingSpace:
    """Store so many passages with vectors; shared ones are entries, every so many of them with a tag that says so."""
    space = space_of(provider())
    kind = Kind.ENTRY if owner is None else Kind.FACT
    texts = [f"{WORDS[n % len(WORDS)]} the {WORDS[n * 7 % 5]} number {n}" for n in range(count)]
    ids = [str(next(_numbers)) for _ in range(count)]
    if owner is None:
        entries = [
            Entry(content=text, digest=f"{n}", tags=[f"every-{every}" for every in TAGGED if n % every == 0])
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
    _analyse()
    return space


def _analyse() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def share_found(space: EmbeddingSpace, wanted: Filters, owner: User | None, *, top: int = 50) -> float:
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


@pytest.mark.parametrize("size", [64, 900, 1_000, SHARED])
def test_the_nearest_are_found_at_every_size_of_a_scope(world, size):
    owner = world.owners[size]

    assert scope_of_owner(owner).is_large is (size >= 1_000)
    assert share_found(world.space, Filters(Kind.values), owner) >= 0.99


@pytest.mark.parametrize("every", TAGGED)
def test_filters_leave_the_nearest_of_what_passes_however_little_that_is(world, every):
    tagged = Entry.objects.filter(tags__contains=[f"every-{every}"])
    wanted = Filters([Kind.ENTRY], eligible={Kind.ENTRY: tagged})

    assert share_found(world.space, wanted, None, top=min(50, SHARED // every)) >= 0.99


@pytest.mark.parametrize("size", [1_000, SHARED])
def test_until_its_index_is_built_a_large_scope_finds_all_that_is_nearest(world, size):
    owner = world.owners[size]
    whole, unindexed = scope_of_owner(owner), Scope(owner and owner.pk, size=size)

    for row in _vectors(QUESTIONS, seed=99):
        vector = HalfVector(row.tolist())
        with transaction.atomic(), _explained() as plans:
            found = retrieve_by_meaning(vector, world.space, Filters(Kind.values), unindexed, few=False)
        with transaction.atomic():
            exact = retrieve_by_meaning(vector, world.space, Filters(Kind.values), whole, few=True)

        assert {one.passage for one in found} == {one.passage for one in exact}
        assert "knowledge_near" not in "".join(plans)


def test_a_scope_is_known_to_be_large_before_it_has_an_index(world):
    filters._sizes_known.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filters, "INDEXES", "'{}'::json")
        sizes = {size: scope_of_owner(owner).size for size, owner in world.owners.items()}
    filters._sizes_known.clear()

    assert all(0.6 * size <= seen <= 1.4 * size for size, seen in sizes.items() if size > 500)
    assert sizes[64] < 500


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_filter_that_says_little_by_itself_still_finds_all_it_should(world, is_indexed):
    """The tag is far from every question: the index gives out before it has enough, and everything is looked at."""
    question = _vectors(1, seed=99)[0]
    shared = PassageVector.objects.filter(owner=None).select_related("passage")
    far = [row for row in shared if np.dot(row.vector, question) < 0.2]
    eligible = Entry.objects.filter(pk__in=[row.passage.source_id for row in far])
    wanted = Filters([Kind.ENTRY], eligible={Kind.ENTRY: eligible})

    with transaction.atomic():
        scope = scope_of_owner(None) if is_indexed else Scope(None, size=SHARED)
        found = retrieve_by_meaning(HalfVector(question.tolist()), world.space, wanted, scope, few=False)

    nearest = sorted(far, key=lambda row: -np.dot(row.vector, question))[: len(found)]
    assert len(found) == arms.CANDIDATES
    assert len({one.passage for one in found} & {row.passage_id for row in nearest}) >= 0.99 * len(found)


def test_a_large_scope_is_asked_through_its_index_and_a_small_one_is_not(world):
    vector = HalfVector(_vectors(1, seed=99)[0].tolist())

    def plan(wanted: Filters, person: User | None) -> str:
        with _explained() as plans, transaction.atomic():
            retrieve_by_meaning(vector, world.space, wanted, scope_of_owner(person), few=False)
        return "\n".join(plans)

    assert f"Index Scan using knowledge_near_{world.space.pk}_shared" in plan(Filters([Kind.ENTRY]), None)
    assert "knowledge_near" not in plan(Filters([Kind.FACT]), world.owners[64])


def test_a_large_scope_is_asked_for_pairs_of_characters_as_words_that_its_index_has(world):
    entry = add_entry(make_actor(), content="会議は毎週月曜日の午前十時から始まります。", entry_type="fact")
    wanted = Filters([Kind.ENTRY])

    with _explained() as plans, transaction.atomic():
        found = retrieve_by_words(["会議", "何曜"], wanted, scope_of_owner(None), few=False)

    assert [one.source_id for one in found.candidates] == [str(entry.id)]
    conditions = [line for line in plans if "Filter:" in line or "Cond:" in line]
    assert any("lexemes @@" in line for line in conditions)
    assert not any("strpos" in line for line in conditions)


def test_a_kind_with_few_things_in_a_large_scope_is_looked_at_thing_by_thing(world):
    """Its index is over all kinds: it would be walked to its end for the few, or for none at all."""
    scope = scope_of_owner(None)

    assert scope.is_large
    assert Filters([Kind.COMPANY]).leave_few(scope)
    assert not Filters([Kind.ENTRY]).leave_few(scope)


def test_in_a_large_scope_words_that_stand_everywhere_are_not_looked_up(world, monkeypatch):
    monkeypatch.setattr("knowledge.search.frequencies.MATCHED", 600)

    words = ["the", "number", "1234", "deploy"]

    telling = selective_words(words, scope_of_owner(None))
    found = retrieve_by_words(words, Filters([Kind.ENTRY]), scope_of_owner(None), few=False).candidates

    assert "the" not in telling
    assert set(telling) == {"1234", "deploy"}
    assert Passage.objects.get(pk=found[0].passage).text.endswith("number 1234")


def test_what_others_write_changes_nothing_of_how_words_weigh_in_a_large_scope(world):
    other = make_actor()
    scope = scope_of_owner(world.owners[1_000])
    before = count_words(["deploy", "router", "xylotherm"], scope)

    remember(1_000, owner=other.user)
    Passage.objects.filter(owner=other.user).update(text="Xylotherm and the router.")
    _analyse()
    forget_statistics()
    forget_vocabularies()

    assert count_words(["deploy", "router", "xylotherm"], scope) == before
    assert before[0]


def test_a_search_of_the_knowledge_base_keeps_to_its_filters_in_a_large_scope(world, actor):
    found = search_entries(actor, query="deploy the router", tags=["every-30"], limit=50)
    unsure = search_entries(actor, query="deploy the router", min_confidence=1.0, limit=50)

    assert all("every-30" in hit.entry.tags for hit in found.items)
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

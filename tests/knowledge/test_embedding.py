"""The pipeline: what waits is a row, whoever dies loses nothing, and search always answers (T7)."""

import math
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from knowledge.context.sessions import start_session
from knowledge.conversation.chunks import append_chunk
from knowledge.embeddings import calls
from knowledge.embeddings.providers import Embedded
from knowledge.indexing import embedding
from knowledge.indexing.embedding import (
    AGAIN,
    active_space,
    embed_pending,
    progress,
    retry_failed,
    start_again,
    stop_rebuild,
)
from knowledge.memory.facts import deprecate_fact, store_fact
from knowledge.memory.notes import set_note
from knowledge.models import CachedVector, EmbeddingSpace, PassageVector
from knowledge.recall.semantic_search import semantic_search
from tests.factories import make_actor
from tests.knowledge.embeddings.endpoint import Answer, Endpoint

pytestmark = pytest.mark.django_db


def test_what_is_stored_waits_for_its_vector_and_gets_it(actor):
    embed_pending()
    store_fact(actor, category="decision", fact="Deploys go through the router.")

    waiting = progress().waiting
    made = embed_pending()

    assert (waiting, made, progress().waiting) == (1, 1, 0)
    assert PassageVector.objects.get().owner == actor.user


def test_what_was_stored_a_moment_ago_is_found_by_its_words_before_what_merely_has_a_vector(actor):
    for place in ("Berlin", "Lisbon", "Oslo", "Porto", "Turin", "Vienna"):
        store_fact(actor, category="decision", fact=f"The router of {place} was switched.")
    embed_pending()
    store_fact(actor, category="decision", fact="The router of Zanzibar was switched.")

    found = semantic_search(actor, query="Zanzibar", limit=1)

    assert [hit.excerpt for hit in found.items] == ["The router of Zanzibar was switched."]
    assert not found.fallback


def test_what_was_stored_before_the_first_worker_ran_is_embedded_too():
    store_fact(make_actor(), category="decision", fact="Deploys go through the router.")

    assert embed_pending() == 1


def test_the_same_text_is_embedded_once(monkeypatch):
    asked = []
    from knowledge.embeddings.hashing import Hashing

    embed = Hashing.embed
    monkeypatch.setattr(Hashing, "embed", lambda self, texts, **kw: asked.extend(texts) or embed(self, texts, **kw))
    for actor in (make_actor(), make_actor()):
        set_note(actor, domain="work", key="deploys", content="They go through the router.")
        embed_pending()

    assert asked == ["work deploys\n\nThey go through the router."]


def test_a_batch_whose_worker_was_killed_is_taken_over_when_its_lease_ends():
    store_fact(make_actor(), category="decision", fact="Deploys go through the router.")
    progress()
    PassageVector.objects.update(not_before=timezone.now() + timedelta(seconds=45))

    during = embed_pending()
    PassageVector.objects.update(not_before=timezone.now())

    assert (during, embed_pending()) == (0, 1)


@pytest.mark.django_db(transaction=True)
def test_a_batch_whose_connection_was_lost_while_it_was_embedded_is_stored_at_once(monkeypatch):
    from knowledge.embeddings.hashing import Hashing

    embed, lost = Hashing.embed, []

    def embed_and_lose(self, texts, **options):
        if not lost:
            lost.append(connection.connection.info.backend_pid)
            other = connection.copy()
            with other.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 5000)", lost)
            other.close()
        return embed(self, texts, **options)

    store_fact(make_actor(), category="decision", fact="Deploys go through the router.")
    monkeypatch.setattr(Hashing, "embed", embed_and_lose)

    assert embed_pending() == 1
    assert lost != [connection.connection.info.backend_pid]


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_collided_with_another_transaction_is_stored_at_once(monkeypatch):
    from knowledge.embeddings.hashing import Hashing

    embed, collided = Hashing.embed, []

    def embed_and_collide(self, texts, **options):
        if not collided:
            collided.append(texts)
            with connection.cursor() as cursor:
                cursor.execute("DO $$ BEGIN RAISE deadlock_detected; END $$")
        return embed(self, texts, **options)

    store_fact(make_actor(), category="decision", fact="Deploys go through the router.")
    monkeypatch.setattr(Hashing, "embed", embed_and_collide)

    assert embed_pending() == 1


def test_another_model_is_built_beside_the_old_one_and_then_takes_its_place(settings, actor):
    store_fact(actor, category="decision", fact="Deploys go through the router.")
    embed_pending()
    old = active_space()
    settings.EMBEDDING_DIMENSIONS = 32

    progress()
    assert active_space() == old
    embed_pending()

    assert active_space() != old
    assert EmbeddingSpace.objects.count() == 1
    assert semantic_search(actor, query="router").items[0].arms == ("keyword", "vector")


def test_a_process_of_before_does_not_bring_the_old_model_back(settings, actor):
    store_fact(actor, category="decision", fact="Deploys go through the router.")
    embed_pending()
    progress()  # This process has worked in the space, and another one finishes that of another model.
    EmbeddingSpace.objects.all().delete()
    new = EmbeddingSpace.objects.create(name="another:32", dimensions=32, active_since=timezone.now())

    made, told = embed_pending(), progress()

    assert (made, told.total) == (0, 0)
    assert EmbeddingSpace.objects.get() == new
    assert semantic_search(actor, query="router").fallback


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("trouble", "change"),
    [("", lambda _: embed_pending()), (AGAIN, stop_rebuild), ("The text was refused.", retry_failed)],
    ids=["marking all", "stopping", "retrying"],
)
def test_nobody_waits_for_the_row_that_a_worker_writes_just_now(trouble, change):
    """Each would hold rows that the other waits for, and PostgreSQL would break one of them off."""
    admin = make_actor(admin=True)
    for n in range(3):
        store_fact(admin, category="decision", fact=f"Router {n} was switched.")
    embed_pending()
    if not trouble:
        start_again(batch_size=10, clear_cache=False)
    PassageVector.objects.update(trouble=trouble)

    with _locked(PassageVector.objects.first()):
        changed = change(admin)

    assert changed == 2


def test_what_was_begun_for_a_model_that_was_given_up_is_dropped(settings, monkeypatch):
    store_fact(make_actor(), category="decision", fact="Deploys go through the router.")
    embed_pending()
    settings.EMBEDDING_DIMENSIONS = 32
    progress()
    settings.EMBEDDING_DIMENSIONS = 0

    embed_pending()
    still_built = EmbeddingSpace.objects.count()
    monkeypatch.setattr("knowledge.indexing.embedding._BEGAN", timezone.now())  # All are started again.
    embed_pending()

    assert still_built == 2
    assert EmbeddingSpace.objects.get() == active_space()


def test_meaning_never_crosses_to_somebody_else_and_never_finds_what_was_set_aside():
    owner, stranger = make_actor(), make_actor()
    fact = store_fact(owner, category="decision", fact="Deploys go through the router.").fact
    embed_pending()

    assert semantic_search(stranger, query="Deploys go through the router.").items == []
    deprecate_fact(owner, fact_id=fact.pk, reason="No.")
    assert semantic_search(owner, query="Deploys go through the router.").items == []


def test_the_exchange_beside_a_strong_one_is_lifted(actor):
    first, second = (str(start_session(actor).session.pk) for _ in range(2))
    question = "How do we roll back a broken release of the billing service?"
    append_chunk(actor, session_id=first, role="user", content=question)
    append_chunk(actor, session_id=first, role="assistant", content="By switching the router.")
    append_chunk(actor, session_id=second, role="assistant", content="By switching the light.")
    embed_pending()

    found = semantic_search(actor, query="roll back a broken release of the billing service")

    assert [hit.excerpt for hit in found.items][:2] == [
        "How do we roll back a broken release of the billing service?",
        "By switching the router.",
    ]


def test_a_long_text_is_found_by_what_stands_at_its_end(actor):
    start_session(actor)
    append_chunk(actor, role="user", content="Nothing of interest here. " * 200 + "The password policy is in ADR 12.")
    embed_pending()

    found = semantic_search(actor, query="password policy")

    assert "ADR 12" in found.items[0].excerpt
    assert len(found.items[0].excerpt) < 1_500
    assert found.total == 1


@pytest.mark.django_db(transaction=True)
def test_a_worker_does_not_wait_for_what_is_being_forgotten(monkeypatch, actor):
    for n in range(3):
        store_fact(actor, category="decision", fact=f"Router {n} was switched.")
    locked = ExitStack()

    def embed_batch(embedder, texts):
        locked.enter_context(_locked(PassageVector.objects.first()))
        return Embedded(embedder.embed(texts))

    monkeypatch.setattr("knowledge.indexing.embedding.embed_batch", embed_batch)

    with locked:
        made = embed_pending()

    assert made == 2
    assert progress().waiting == 1


@pytest.mark.django_db(transaction=True)
def test_a_text_is_stored_while_the_space_of_a_former_model_is_dropped(settings):
    """Queued in a space that another transaction is deleting, the text could not be committed."""
    actor = make_actor()
    store_fact(actor, category="decision", fact="Deploys go through the router.")
    embed_pending()
    settings.EMBEDDING_DIMENSIONS = 32
    progress()
    settings.EMBEDDING_DIMENSIONS = 0
    dropped = EmbeddingSpace.objects.get(active_since=None)

    with _meanwhile(
        f"DELETE FROM knowledge_passagevector WHERE space_id = {dropped.pk}",
        f"DELETE FROM knowledge_embeddingspace WHERE id = {dropped.pk}",
    ):
        store_fact(actor, category="decision", fact="Backups stay for a month.")

    assert PassageVector.objects.filter(space=active_space()).count() == 2
    assert not PassageVector.objects.exclude(space=active_space()).exists()


@pytest.mark.django_db(transaction=True)
def test_a_text_that_is_stored_while_its_space_changes_waits_for_its_vector():
    """As while all of it is marked to be made again: nobody waits for that, and nothing is left out."""
    actor = make_actor()
    store_fact(actor, category="decision", fact="Deploys go through the router.")
    embed_pending()

    with _meanwhile("SELECT 1 FROM knowledge_embeddingspace FOR NO KEY UPDATE"):
        store_fact(actor, category="decision", fact="Backups stay for a month.")

    assert progress().waiting == 1


def test_a_text_that_was_being_stored_when_its_space_was_made_gets_its_vector():
    """Its transaction did not see the space, and whoever made the space did not see the text."""
    store_fact(make_actor(), category="decision", fact="Deploys go through the router.")
    progress()
    PassageVector.objects.all().delete()

    embed_pending()

    assert PassageVector.objects.exclude(vector=None).count() == 1


def _locked(row):
    return _meanwhile(f"UPDATE knowledge_passagevector SET trouble = trouble WHERE id = {row.pk}")


@contextmanager
def _meanwhile(*statements):
    """Another connection does this, and commits at the end; whoever waits for it is refused after three seconds."""
    other = connection.copy()
    other.set_autocommit(False)
    with other.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout TO '3s'")
    try:
        yield
        other.commit()
    finally:
        other.close()
        connection.close()


OPEN_SECONDS = 0.05
SLOW = Answer(delay=1.0)
TROUBLES = {
    "down": None,
    "slow": SLOW,
    "429": Answer(status=429, headers={"Retry-After": "0.01"}),
    "500": Answer(status=500),
    "wrong dimension": Answer(lambda texts: [[1.0, 2.0]] * len(texts)),
    "NaN": Answer(lambda texts: [[1.0, math.nan, 2.0]] * len(texts)),
    "garbage": Answer(body='{"object": "list", "data": [{"index": 0, "embedding'),
}


@pytest.fixture
def endpoint(settings, monkeypatch) -> Iterator[Endpoint]:
    """The endpoint that everything here embeds at, with nobody waiting long for it."""
    monkeypatch.setattr(calls, "SHORTEST", OPEN_SECONDS)
    monkeypatch.setattr(embedding, "WAIT_WHEN_DOWN", timedelta(0))
    monkeypatch.setattr(calls, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(calls, "BATCH_SECONDS", 0.2)
    monkeypatch.setattr(calls, "QUERY_SECONDS", 0.2)
    cache.clear()
    with Endpoint() as endpoint:
        settings.EMBEDDING_PROVIDER, settings.EMBEDDING_URL = "openai", endpoint.url
        settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS = "three-numbers", 3
        yield endpoint
    cache.clear()


@pytest.mark.parametrize("trouble", TROUBLES)
def test_in_trouble_nothing_wrong_is_stored_and_afterwards_all_is_well_by_itself(endpoint, trouble, actor):
    store_fact(actor, category="decision", fact="Deploys go through the router.")
    bring_into(endpoint, TROUBLES[trouble])

    made = [embed_pending() for _ in range(4)]
    during = semantic_search(actor, query="router")
    stored = CachedVector.objects.count() + PassageVector.objects.exclude(vector=None).count()
    bring_out_of(endpoint, TROUBLES[trouble])
    time.sleep(2 * OPEN_SECONDS)
    embed_pending()
    afterwards = semantic_search(actor, query="router")

    assert (made, stored) == ([0] * 4, 0)
    assert (during.fallback, [tuple(hit.arms) for hit in during.items]) == (True, [("keyword",)])
    assert progress().waiting == 0
    assert (afterwards.fallback, [tuple(hit.arms) for hit in afterwards.items]) == (False, [("keyword", "vector")])


def bring_into(endpoint, answer):
    """Let the endpoint answer so, or not listen at all."""
    if answer is None:
        endpoint.close()
    else:
        endpoint.usual = answer


def bring_out_of(endpoint, answer):
    """Let the endpoint answer rightly again."""
    if answer is None:
        endpoint.open()
    endpoint.usual = Answer()

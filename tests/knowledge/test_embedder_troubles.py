"""Whatever is wrong with the embedder: nothing wrong is stored, words decide, and nobody restarts anything (T7)."""

import math
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.cache import cache

from knowledge.embeddings import circuit
from knowledge.embeddings import retry as patience
from knowledge.indexing import embedding
from knowledge.indexing.embedding import embed_pending, progress
from knowledge.memory.facts import store_fact
from knowledge.models import CachedVector, PassageVector
from knowledge.recall.semantic_search import semantic_search
from tests.knowledge.embeddings.endpoint import Answer, Endpoint

pytestmark = pytest.mark.django_db

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
    monkeypatch.setattr(circuit, "SHORTEST", OPEN_SECONDS)
    monkeypatch.setattr(embedding, "WAIT_WHEN_DOWN", timedelta(0))
    monkeypatch.setattr(patience, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(patience, "BATCH_SECONDS", 0.2)
    monkeypatch.setattr(patience, "QUERY_SECONDS", 0.2)
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

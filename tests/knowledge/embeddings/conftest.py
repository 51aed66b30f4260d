"""What the tests of embedders share: an endpoint, an embedder that asks it, and a cache that has forgotten the rest."""

import pytest
from django.core.cache import cache

from knowledge.embeddings.openai_compatible import OpenAICompatible
from tests.knowledge.embeddings.endpoint import Endpoint


@pytest.fixture
def endpoint():
    with Endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def embedder(endpoint):
    return OpenAICompatible(url=endpoint.url, model="three-numbers", dimensions=3)


@pytest.fixture(autouse=True)
def _nothing_happened_yet(settings):
    settings.EMBEDDING_DAILY_TOKENS = 0
    cache.clear()
    yield
    cache.clear()

"""The settings choose the embedder."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from knowledge.embeddings.providers import provider


@pytest.fixture(autouse=True)
def _unset(settings):
    settings.EMBEDDING_PROVIDER = settings.EMBEDDING_URL = settings.EMBEDDING_MODEL = settings.EMBEDDING_API_KEY = ""
    settings.EMBEDDING_DIMENSIONS = 0


@pytest.mark.parametrize(
    ("chosen", "space", "dimensions", "is_paid"),
    [
        ({}, "minilm-l6-v2+use-multilingual-v3:896", 896, False),
        ({"PROVIDER": "hashing"}, "hashing:256", 256, False),
        ({"PROVIDER": "hashing", "DIMENSIONS": 16}, "hashing:16", 16, False),
        ({"PROVIDER": "openai", "API_KEY": "k"}, "openai:text-embedding-3-small:1536", 1536, True),
        (
            {"URL": "http://localhost:11434/v1", "MODEL": "nomic-embed-text:latest"},
            "openai:nomic-embed-text:latest:768",
            768,
            False,
        ),
        ({"URL": "http://tei/v1", "MODEL": "our/own", "DIMENSIONS": 512}, "openai:our/own:512", 512, False),
        ({"URL": "http://tei/v1", "PROVIDER": "builtin"}, "minilm-l6-v2+use-multilingual-v3:896", 896, False),
    ],
)
def test_the_settings_choose_the_embedder(settings, chosen, space, dimensions, is_paid):
    for name, value in chosen.items():
        setattr(settings, f"EMBEDDING_{name}", value)

    embedder = provider()

    assert (embedder.space, embedder.dimensions, embedder.is_paid) == (space, dimensions, is_paid)
    assert provider() is embedder


@pytest.mark.parametrize(
    ("chosen", "complaint"),
    [
        ({"PROVIDER": "magic"}, "'magic'"),
        ({"URL": "http://tei/v1", "MODEL": "our/own"}, "BIGMIND_EMBEDDING_DIMENSIONS"),
    ],
)
def test_settings_that_do_not_say_enough_are_refused(settings, chosen, complaint):
    for name, value in chosen.items():
        setattr(settings, f"EMBEDDING_{name}", value)

    with pytest.raises(ImproperlyConfigured, match=complaint):
        provider()

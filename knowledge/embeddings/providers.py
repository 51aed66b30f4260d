"""The embedder of this instance: the protocol of all embedders, and the one that the settings choose."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from knowledge.embeddings.vectors import Vectors


class Embedder(Protocol):
    """An embedder. Its vectors are comparable within the same `space` only."""

    @property
    def space(self) -> str:
        """The name of the model and its dimensions, such as `minilm-l6-v2:384`."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    @property
    def is_paid(self) -> bool:
        """Whether the daily budget applies to it."""

    def embed(self, texts: Sequence[str], *, timeout: float = ...) -> Vectors:
        """Return a unit vector for each of 1 to 100 texts, without retries, within about `timeout` seconds.

        Raises:
            EmbedderDown: it is unreachable or overloaded, for now.
            EmbedderBroken: its answer must not be stored, or it is not configured correctly.
            TextsRefused: it works, but does not accept these texts.
        """


def provider() -> Embedder:
    """Return the embedder that the settings choose; the same object for the life of the process.

    EMBEDDING_PROVIDER names it; when that is empty, it is an endpoint where EMBEDDING_URL names one, else the
    built-in model.

    Raises:
        ImproperlyConfigured: the settings do not say enough.
    """
    return _provider(
        settings.EMBEDDING_PROVIDER or ("openai" if settings.EMBEDDING_URL else "builtin"),
        settings.EMBEDDING_URL,
        settings.EMBEDDING_MODEL,
        settings.EMBEDDING_API_KEY,
        settings.EMBEDDING_DIMENSIONS,
    )


@lru_cache(maxsize=8)
def _provider(name: str, url: str, model: str, key: str, dimensions: int) -> Embedder:
    """Build an embedder, importing only the package that it needs: each takes a while to load."""
    match name:
        case "builtin":
            from knowledge.embeddings.minilm import MiniLM

            return MiniLM()
        case "openai":
            return _endpoint(url, model, key, dimensions)
        case "hashing":
            from knowledge.embeddings.hashing import Hashing

            return Hashing(dimensions or Hashing.dimensions)
    raise ImproperlyConfigured(f"There is no embedding provider {name!r}: say builtin, openai or hashing.")


def _endpoint(url: str, model: str, key: str, dimensions: int) -> Embedder:
    from knowledge.embeddings.openai_compatible import NATURAL_DIMENSIONS, OpenAICompatible

    model = model or "text-embedding-3-small"
    # Ollama's names carry a tag: nomic-embed-text:latest.
    dimensions = dimensions or NATURAL_DIMENSIONS.get(model.partition(":")[0], 0)
    if not dimensions:
        raise ImproperlyConfigured(f"How long are the vectors of {model!r}? Say so in BIGMIND_EMBEDDING_DIMENSIONS.")
    return OpenAICompatible(url=url, model=model, dimensions=dimensions, key=key)

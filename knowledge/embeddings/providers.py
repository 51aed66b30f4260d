"""The embedder of this instance, the protocol of all embedders, and the check of what they answer."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""One row for each text, of length 1, so that the inner product is the cosine."""

OF_BEFORE = "minilm-l6-v2:384"
"""The space of the built-in embedder when it was one model. The vectors of today's begin with those of its model."""
BATCH_SECONDS = 30.0
LARGEST_BATCH = 100
"""Texts of one call: every OpenAI-compatible endpoint accepts as many, and a worker that is killed loses no more."""


class EmbedderError(Exception):
    """There are no vectors. `reason` is one sentence for the administrator, without any of the texts or the key."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EmbedderDown(EmbedderError):
    """The embedder is unreachable or overloaded for now. `retry_after` is the seconds it asked for, if it did."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class EmbedderBroken(EmbedderError):
    """The embedder answers, but not with vectors that may be stored: a person has to mend it or its configuration."""


class TextsRefused(EmbedderError):
    """The embedder works, but refuses these texts. Sent one by one, those that are acceptable still pass."""


def check_vectors(answer: Any, *, count: int, dimensions: int) -> Vectors:
    """Return the answer of an embedder as unit vectors.

    Raises:
        EmbedderBroken: the answer is not `count` vectors of `dimensions` finite numbers, or one is all zeros. If it
            were stored, its text could not be found, and nobody would notice.
    """
    vectors = _table(answer)
    if len(vectors) != count:
        raise EmbedderBroken(f"The embedder answered with {len(vectors)} vectors for {count} texts.")
    if vectors.shape != (count, dimensions):
        raise EmbedderBroken(f"The embedder answered with {vectors.shape[-1]} dimensions instead of {dimensions}.")
    # In double precision: there, the square of a single-precision number neither overflows nor underflows.
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise EmbedderBroken("The embedder answered with numbers that are not finite.")
    if not lengths.all():
        raise EmbedderBroken("The embedder answered with a vector of zeros.")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit


def _table(answer: Any) -> NDArray[np.float64]:
    try:
        table = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.array(math.nan)
    if table.size and table.ndim != 2:
        raise EmbedderBroken("The embedder answered with something that is not a table of numbers.")
    return table


class TokenSigns(NamedTuple):
    """The tokens of one text: the signs of each one's vector, eight in a byte, and where it stands in the text."""

    signs: NDArray[np.uint8]
    places: Sequence[tuple[int, int]]


class Embedded(NamedTuple):
    """The vectors of texts; of an embedder that can say so also those of their tokens."""

    vectors: Vectors
    tokens: Sequence[TokenSigns] = ()


class Embedder(Protocol):
    """An embedder. Its vectors are comparable within the same `space` only."""

    @property
    def space(self) -> str:
        """The name of the model and its dimensions, such as `text-embedding-3-small:1536`."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    @property
    def is_paid(self) -> bool:
        """Whether the daily budget applies to it."""

    @property
    def is_local(self) -> bool:
        """Whether it works in this process, so that a call that writes can wait for it."""

    def embed(self, texts: Sequence[str], *, timeout: float = ...) -> Vectors:
        """Return a unit vector for each of 1 to 100 texts, without retries, within about `timeout` seconds.

        Raises:
            EmbedderDown: it is unreachable or overloaded, for now.
            EmbedderBroken: its answer must not be stored, or it is not configured correctly.
            TextsRefused: it works, but does not accept these texts.
        """


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder whose model is in this process. It also returns the vectors of tokens, which endpoints do not."""

    def load(self) -> None:
        """Load the model, which the first text would do otherwise.

        Raises:
            EmbedderBroken: the model is missing or damaged.
        """

    def embed_tokens(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of 1 to 100 texts and of their tokens."""

    def weigh_question(self, query: str, embedded: Embedded) -> Embedded:
        """Return what was embedded of a question as it is searched for."""


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


def spaces_of(embedder: Embedder) -> list[str]:
    """Return the names of the spaces in which a vector of this embedder, or the beginning of it, can be searched.

    So questions are answered by meaning while the vectors of an older version are replaced.
    """
    continues = embedder.space.startswith(OF_BEFORE.partition(":")[0])
    return [embedder.space, OF_BEFORE] if continues else [embedder.space]


@lru_cache(maxsize=8)
def _provider(name: str, url: str, model: str, key: str, dimensions: int) -> Embedder:
    """Build an embedder, importing only the package that it needs: each takes a while to load."""
    match name:
        case "builtin":
            from knowledge.embeddings.built_in import BuiltIn

            return BuiltIn()
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

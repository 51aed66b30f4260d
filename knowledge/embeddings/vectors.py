"""What an embedder returns, what it may not return, and the three ways it can fail."""

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""One row for each text, each of length 1, so that the inner product is the cosine."""

LARGEST_BATCH = 100
"""Texts in one call: what every OpenAI-compatible endpoint accepts, and what a worker may lose by being killed."""


class EmbedderError(Exception):
    """There are no vectors. `reason` is one sentence for the person in charge, without any of the texts or the key."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EmbedderDown(EmbedderError):
    """The embedder is away or overloaded, and will be back. `retry_after` is the seconds it asked for, if it did."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class EmbedderBroken(EmbedderError):
    """The embedder answers, but not with vectors that may be stored: it, or how it is configured, needs a person."""


class TextsRefused(EmbedderError):
    """The embedder works, but will not embed these texts. One of them alone tells which: the others may still pass."""


def check_vectors(answer: Any, *, count: int, dimensions: int) -> Vectors:
    """Return what an embedder answered as unit vectors.

    Raises:
        EmbedderBroken: it is not `count` vectors of `dimensions` finite numbers, or one has no direction. A vector
            like that would be stored, and make its text unfindable without anyone noticing.
    """
    vectors = _table(answer)
    if len(vectors) != count:
        raise EmbedderBroken(f"The embedder answered with {len(vectors)} vectors for {count} texts.")
    if vectors.shape != (count, dimensions):
        raise EmbedderBroken(f"The embedder answered with {vectors.shape[-1]} dimensions instead of {dimensions}.")
    # In double precision, where the square of no single-precision number overflows or vanishes.
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

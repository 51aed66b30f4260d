"""Vectors as embedders return them, the check of an answer, and the three ways an embedder can fail."""

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""One row for each text, of length 1, so that the inner product is the cosine."""

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

"""A deterministic embedder for tests: texts that share words, or parts of words, are near each other."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from knowledge.embeddings.vectors import Vectors, check_vectors

WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Hashing:
    """A bag of hashed words and of the three-letter pieces of words. It knows no meaning, and needs no model."""

    dimensions: int = 64
    is_paid: bool = False

    @property
    def space(self) -> str:
        """The name of this embedder's vectors."""
        return f"hashing:{self.dimensions}"

    def embed(self, texts: Sequence[str], *, timeout: float = 0) -> Vectors:
        """Return the vectors of the texts, the same in every process and on every machine."""
        vectors = [self._vector(text) for text in texts]
        return check_vectors(vectors, count=len(texts), dimensions=self.dimensions)

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(self.dimensions, dtype=np.float32)
        for feature, weight in _features(text):
            place, sign = divmod(crc32(feature.encode("utf-8", "surrogatepass")), 2)
            vector[place % self.dimensions] += weight if sign else -weight
        if not vector.any():  # A text without words, or one whose features cancel out, still needs a direction.
            vector[0] = 1
        return vector


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in WORD.findall(text.lower()):
        yield word, 1.0
        edged = f"<{word}>"
        for begin in range(len(edged) - 2):
            yield edged[begin : begin + 3], 0.3

"""A deterministic embedder for tests: texts that share words, or parts of words, are similar."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np

from bigmind.text.words import IDENTIFIER
from knowledge.embeddings.providers import Vectors, check_vectors


@dataclass(frozen=True)
class Hashing:
    """Feature hashing of words and their trigrams (Weinberger et al., 2009). It knows no meaning and needs no model.

    With fewer dimensions texts that share nothing come near enough, by collisions, to pass for an answer.
    """

    dimensions: int = 256
    is_paid: bool = False
    is_local: bool = True

    @cached_property
    def space(self) -> str:
        """The name of this embedder's vectors."""
        return f"hashing:{self.dimensions}"

    def embed(self, texts: Sequence[str], *, timeout: float = 0) -> Vectors:
        """Return the vectors of the texts: the same in every process and on every machine."""
        vectors = [self._vector(text) for text in texts]
        return check_vectors(vectors, count=len(texts), dimensions=self.dimensions)

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(self.dimensions, dtype=np.float32)
        for feature, weight in _features(text):
            # A random sign lets collisions of features cancel out on average instead of adding up.
            bucket, sign = divmod(crc32(feature.encode("utf-8", "surrogatepass")), 2)
            vector[bucket % self.dimensions] += weight if sign else -weight
        if not vector.any():  # A text without words, or one whose features cancel out, still needs a direction.
            vector[0] = 1
        return vector


def _features(text: str) -> list[tuple[str, float]]:
    features = list[tuple[str, float]]()
    for word in IDENTIFIER.findall(text.lower()):
        edged = f"<{word}>"
        features += [(word, 1.0), *[(edged[begin : begin + 3], 0.3) for begin in range(len(edged) - 2)]]
    return features

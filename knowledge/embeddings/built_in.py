"""The built-in embedder: two models as one, without network or key (decision 94).

A text's vector is those of both models, one after the other, each with its weight. So the cosine of two texts is the
weighted mean of the two cosines, and one column and one index serve both.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from knowledge.embeddings import minilm, multilingual
from knowledge.embeddings.providers import Embedded, Vectors

MULTILINGUAL_SHARE, SHARE_IN_QUESTIONS = 0.3, 0.6
"""The second is for questions that are not in English."""
MOST_PIECES = 1.6
"""Pieces a word that the English model takes an English question apart into. Of other languages it knows few words."""
DIMENSIONS = minilm.DIMENSIONS + multilingual.DIMENSIONS
_WEIGHTS = np.sqrt([1 - MULTILINGUAL_SHARE, MULTILINGUAL_SHARE], dtype=np.float32)
_IN_QUESTIONS = np.sqrt([1 - SHARE_IN_QUESTIONS, SHARE_IN_QUESTIONS], dtype=np.float32) / _WEIGHTS
_WORD = re.compile(r"\w+|[^\w\s]")
_NOT_LATIN = re.compile("[^\0-\u024f\u2000-\u20cf]")


@dataclass(frozen=True)
class BuiltIn:
    """all-MiniLM-L6-v2, which reads English best, and Universal Sentence Encoder, which reads sixteen languages.

    The first text loads them, once in a process.
    """

    space: str = f"minilm-l6-v2+use-multilingual-v3:{DIMENSIONS}"
    dimensions: int = DIMENSIONS
    is_paid: bool = False
    is_local: bool = True

    def embed(self, texts: Sequence[str], *, timeout: float = 0) -> Vectors:
        """Return the vectors of the texts. Nothing is called over a network, so `timeout` is ignored.

        Raises:
            EmbedderBroken: the package of a model is missing or damaged.
        """
        return self.embed_tokens(texts).vectors

    def load(self) -> None:
        """Load the models, which the first text would do otherwise.

        Raises:
            EmbedderBroken: the package of a model is missing or damaged.
        """
        minilm.load_minilm()
        multilingual.load_multilingual()

    def embed_tokens(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of the texts, and the tokens of the English model.

        Raises:
            EmbedderBroken: the package of a model is missing or damaged.
        """
        english, tokens = minilm.embed_minilm(texts)
        both = english, multilingual.embed_multilingual(texts)
        return Embedded(np.hstack([weight * part for weight, part in zip(_WEIGHTS, both, strict=True)]), tokens)

    def weigh_question(self, query: str, embedded: Embedded) -> Embedded:
        """Return the vector of a question, in which the multilingual model counts for more if it is not in English.

        Without tokens then: they are those of the English model, which takes other words apart into pieces.
        """
        pieces, words = len(embedded.tokens[0].places) - 2, len(_WORD.findall(query))
        if pieces <= MOST_PIECES * words and not _NOT_LATIN.search(query):
            return embedded
        weights = np.repeat(_IN_QUESTIONS, [minilm.DIMENSIONS, multilingual.DIMENSIONS]).astype(np.float32)
        return Embedded(embedded.vectors * weights)

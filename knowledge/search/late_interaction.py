"""Late interaction: compares the words of a question with those of a passage one by one, in their context.

A passage's vector is the average of its tokens, so what one sentence of it says is lost in what the others say. Here
each token of the question looks for the passage's token that is nearest (ColBERT: Khattab and Zaharia, 2020), and the
rare words count more. The tokens come from the pass that makes the vector; of each only the signs are kept, 48 bytes,
whose differing bits estimate the angle (Charikar, 2002).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from knowledge.embeddings.providers import TokenSigns

STOP_WORD = 0.1
"""Weight of a word that is not searched for, such as “the”, against the average of those that are. Where all words
counted alike, `chats` lost 0.03 of nDCG (decision 34)."""


@dataclass(frozen=True)
class QuestionTokens:
    """The tokens of a question that are parts of words: their signs, and how much each counts; together 1."""

    signs: NDArray[np.uint64]
    weights: NDArray[np.float32]


def weigh_tokens(query: str, tokens: TokenSigns, weights: Mapping[str, float]) -> QuestionTokens:
    """Return the tokens of a question with the weights of the words that they are parts of.

    Args:
        weights: The weight of each word that was searched for, as it stands in the question.
    """
    return weigh_words(words_of_tokens(query, tokens), tokens.signs, weights)


def words_of_tokens(query: str, tokens: TokenSigns) -> list[str]:
    """Return for each token of a question the word that it is a part of; empty for punctuation."""
    return [_word_at(query, place) for place in tokens.places]


def weigh_words(words: Sequence[str], signs: NDArray[np.uint8], weights: Mapping[str, float]) -> QuestionTokens:
    """Return the tokens that are parts of these words, each with its word's weight.

    Args:
        words: Of each token the word, as `words_of_tokens` returns them.
        signs: Of each token the signs of its vector.
    """
    chosen = [number for number, word in enumerate(words) if word]
    return QuestionTokens(as_words(signs[chosen]), shares_of_words(words, weights))


def shares_of_words(words: Sequence[str], weights: Mapping[str, float]) -> NDArray[np.float32]:
    """Return how much each token that is a part of a word counts; together 1."""
    # Where no text has any of the words, they all weigh nothing; and still their tokens have a meaning.
    weights = weights if any(weights.values()) else dict.fromkeys(weights, 1.0)
    usual = fmean(weights.values()) if weights else 1.0
    # A word of another script is looked for by its parts, so it has no weight as a whole.
    counted = [weights.get(word, usual * (STOP_WORD if word.isascii() else 1)) for word in words if word]
    share = np.asarray(counted, dtype=np.float32)
    return share / (share.sum() or 1)


@dataclass(frozen=True)
class PassageTokens:
    """The tokens of many passages, those of one after those of the other: `lengths` says how many each has.

    `signs`, of `bits` each, has a column for each token, because one 64-bit word of all of them is compared at a time.
    """

    signs: NDArray[np.uint64]
    lengths: NDArray[np.int64]
    bits: int

    @classmethod
    def of(cls, passages: Sequence[bytes], *, bytes_each: int) -> "PassageTokens":
        """Return the tokens of passages, given the signs of each one's, one after the other."""
        rows = np.frombuffer(b"".join(passages), dtype=np.uint8).reshape(-1, bytes_each)
        lengths = np.array([len(signs) // bytes_each for signs in passages], dtype=np.int64)
        return cls(np.ascontiguousarray(as_words(rows).T), lengths, 8 * bytes_each)

    def choose(self, chosen: NDArray[np.int64]) -> "PassageTokens":
        """Return the tokens of some of the passages."""
        lengths = self.lengths[chosen]
        starts, ends = self._starts[chosen], np.cumsum(lengths)
        places = np.repeat(starts - ends + lengths, lengths) + np.arange(lengths.sum())
        return PassageTokens(self.signs[:, places], lengths, self.bits)

    def nearest(self, question: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return for each token of a question, a row, how near the nearest token of each passage is, from -1 to 1.

        Every passage needs a token.
        """
        differing = np.zeros((len(question), self.signs.shape[1]), dtype=np.uint16)
        # Bytes hold the counts of three words, and are added faster than what they have to be widened for.
        for start in range(0, len(self.signs), 3):
            pairs = zip(question.T[start : start + 3], self.signs[start : start + 3], strict=True)
            counts = [np.bitwise_count(of_question[:, np.newaxis] ^ of_passages) for of_question, of_passages in pairs]
            differing += reduce(np.add, counts)
        least = np.minimum.reduceat(differing, self._starts, axis=1)
        return np.asarray(1 - 2 * least / self.bits)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where the tokens of each passage begin."""
        return np.asarray(np.cumsum(self.lengths) - self.lengths)


def similarities(question: QuestionTokens, passages: Mapping[int, bytes], *, bytes_each: int) -> dict[int, float]:
    """Return for each passage how well its tokens meet those of the question, from -1 to 1.

    Args:
        passages: The signs of each passage's tokens, one after the other.
        bytes_each: How long those of one token are.
    """
    if not passages or not len(question.weights):
        return {}
    nearest = PassageTokens.of(list(passages.values()), bytes_each=bytes_each).nearest(question.signs)
    return dict(zip(passages, (question.weights @ nearest).tolist(), strict=True))


def as_words(signs: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return rows of bytes as rows of 64-bit words, which are compared eight times as fast."""
    padding = -signs.shape[1] % 8
    if not padding:
        return np.ascontiguousarray(signs).view(np.uint64)
    return np.ascontiguousarray(np.pad(signs, ((0, 0), (0, padding)))).view(np.uint64)


def _word_at(query: str, place: tuple[int, int]) -> str:
    """Return the word of a question that a token is a part of; empty for punctuation and for what stands outside."""
    start, end = place
    if start >= end or not query[start].isalnum():
        return ""
    while start and query[start - 1].isalnum():
        start -= 1
    while end < len(query) and query[end].isalnum():
        end += 1
    return query[start:end].casefold()

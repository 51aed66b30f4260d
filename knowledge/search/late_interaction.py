"""Late interaction: compares the words of a question with those of a passage one by one, in their context.

A passage's vector is the average of its tokens, so what one sentence of it says is lost in what the others say. Here
each token of the question looks for the passage's token that is nearest (ColBERT: Khattab and Zaharia, 2020), and the
rare words count more. The tokens come from the pass that makes the vector; of each only the signs are kept, 48 bytes,
whose differing bits estimate the angle (Charikar, 2002).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from knowledge.embeddings.providers import TokenSigns

STOP_WORD = 0.1
"""Weight of a word that is not searched for, such as “the”, against the average of those that are."""


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
    usual = fmean(weights.values()) if weights else 1.0
    chosen = [number for number, word in enumerate(words) if word]
    # A word of another script is looked for by its parts, so it has no weight as a whole.
    counted = [weights.get(words[number], usual * (STOP_WORD if words[number].isascii() else 1)) for number in chosen]
    share = np.asarray(counted, dtype=np.float32)
    return QuestionTokens(_as_words(signs[chosen]), share / (share.sum() or 1))


def similarities(question: QuestionTokens, passages: Mapping[int, bytes], *, bytes_each: int) -> dict[int, float]:
    """Return for each passage how well its tokens meet those of the question, from -1 to 1.

    Args:
        passages: The signs of each passage's tokens, one after the other.
        bytes_each: How long those of one token are.
    """
    if not passages or not len(question.weights):
        return {}
    tokens = _as_words(np.frombuffer(b"".join(passages.values()), dtype=np.uint8).reshape(-1, bytes_each))
    differing = np.zeros((len(question.signs), len(tokens)), dtype=np.uint16)
    for column in range(tokens.shape[1]):
        differing += np.bitwise_count(question.signs[:, column, np.newaxis] ^ tokens[:, column])
    starts = np.cumsum([0, *(len(signs) // bytes_each for signs in passages.values())][:-1])
    nearest = 1 - 2 * np.minimum.reduceat(differing, starts, axis=1) / (8 * bytes_each)
    return dict(zip(passages, (question.weights @ nearest).tolist(), strict=True))


def _as_words(signs: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return rows of bytes as rows of 64-bit words, which are compared eight times as fast."""
    padding = -signs.shape[1] % 8
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

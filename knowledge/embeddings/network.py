"""BERT's forward pass (Devlin et al., 2018) in numpy, for many texts at once without padding.

The tokens of all texts are the rows of one table. Only attention is computed text by text, so nothing is masked, no
padding is computed, and a text has the same vector in every batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.float32]
Weights: TypeAlias = dict[str, NDArray[np.float32]]

ROWS_AT_ONCE = 64
"""Rows whose intermediate results stay in the processor's cache: three times as fast as all rows of a pass at once."""
_HALF = np.float32(0.5)
_ROOT_OF_HALF = np.float32(0.5**0.5)
_TINY = np.float32(1e-12)
"""The epsilon that BERT was trained with."""
# Abramowitz and Stegun 7.1.26: erf to 1.5e-7, which is all that single precision has. numpy has no erf of its own.
_ERF_SLOPE = np.float32(0.3275911)
_ERF_TERMS = [np.float32(term) for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592)]
_ERF_FIRST = np.float32(1.061405429)


@dataclass(frozen=True)
class Linear:
    """A linear map of each row: a table of weights and a bias."""

    weight: Rows
    bias: Rows

    @classmethod
    def read(cls, weights: Weights, name: str) -> Self:
        """Return the layer of this name from the model's file."""
        return cls(weights[f"{name}.weight"], weights[f"{name}.bias"])

    def __call__(self, rows: Rows) -> Rows:
        result = rows @ self.weight.T
        result += self.bias
        return result


@dataclass(frozen=True)
class Norm:
    """Layer normalisation, in place."""

    gain: Rows
    bias: Rows

    @classmethod
    def read(cls, weights: Weights, name: str) -> Self:
        """Return the layer of this name from the model's file."""
        return cls(weights[f"{name}.weight"], weights[f"{name}.bias"])

    def __call__(self, rows: Rows) -> Rows:
        rows -= rows.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", rows, rows) / np.float32(rows.shape[1])
        rows /= np.sqrt(variance + _TINY)[:, np.newaxis]
        rows *= self.gain
        rows += self.bias
        return rows


@dataclass(frozen=True)
class Layer:
    """One of the model's layers: attention, then two linear maps with a GELU between them."""

    attention_in: Linear
    attention_out: Linear
    attention_norm: Norm
    widen: Linear
    narrow: Linear
    norm: Norm
    heads: int

    @classmethod
    def read(cls, weights: Weights, name: str, heads: int) -> Self:
        """Return the layer of this name from the model's file."""
        return cls(
            attention_in=_join_attention(weights, f"{name}.attention.self", heads),
            attention_out=Linear.read(weights, f"{name}.attention.output.dense"),
            attention_norm=Norm.read(weights, f"{name}.attention.output.LayerNorm"),
            widen=Linear.read(weights, f"{name}.intermediate.dense"),
            narrow=Linear.read(weights, f"{name}.output.dense"),
            norm=Norm.read(weights, f"{name}.output.LayerNorm"),
            heads=heads,
        )

    def __call__(self, rows: Rows, texts: Sequence[slice]) -> Rows:
        attended = self.attention_out(self._attend(rows, texts))
        attended += rows
        rows = self.attention_norm(attended)
        result = self.narrow(_gelu(self.widen(rows)))
        result += rows
        return self.norm(result)

    def _attend(self, rows: Rows, texts: Sequence[slice]) -> Rows:
        queries_keys_values = self.attention_in(rows).reshape(len(rows), 3, self.heads, -1)
        result = np.empty_like(rows)
        for text in texts:
            queries, keys, values = queries_keys_values[text].transpose(1, 2, 0, 3)
            attention = _softmax(queries @ keys.transpose(0, 2, 1))
            result[text] = (attention @ values).transpose(1, 0, 2).reshape(-1, rows.shape[1])
        return result


@dataclass(frozen=True)
class Network:
    """The whole model: tokens in, one unnormalised vector for each of them out."""

    words: Rows
    positions: Rows
    norm: Norm
    layers: Sequence[Layer]

    @classmethod
    def read(cls, weights: Weights, *, layers: int, heads: int) -> Self:
        """Return the network with the weights of the model's file."""
        return cls(
            words=weights["embeddings.word_embeddings.weight"],
            # Every token is of type 0 here, so the vector of that type is added to the positions once.
            positions=weights["embeddings.position_embeddings.weight"]
            + weights["embeddings.token_type_embeddings.weight"][0],
            norm=Norm.read(weights, "embeddings.LayerNorm"),
            layers=[Layer.read(weights, f"encoder.layer.{number}", heads) for number in range(layers)],
        )

    def __call__(self, texts: Sequence[Sequence[int]]) -> list[Rows]:
        """Return for each text its tokens after the last layer; their mean is its vector, as the model was trained."""
        ends = list(accumulate(map(len, texts), initial=0))
        rows = np.concatenate([self.words[tokens] + self.positions[: len(tokens)] for tokens in map(list, texts)])
        rows = self.norm(rows)
        places = [slice(*place) for place in pairwise(ends)]
        for layer in self.layers:
            rows = layer(rows, places)
        return [rows[place] for place in places]


def _join_attention(weights: Weights, name: str, heads: int) -> Linear:
    """Return the three linear maps as one, with the scale 1/√d in the queries: one product instead of three."""
    query, key, value = map(partial(Linear.read, weights), (f"{name}.query", f"{name}.key", f"{name}.value"))
    scale = np.float32((len(query.bias) / heads) ** -0.5)
    return Linear(
        np.concatenate([query.weight * scale, key.weight, value.weight]),
        np.concatenate([query.bias * scale, key.bias, value.bias]),
    )


def _softmax(scores: Rows) -> Rows:
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def _gelu(rows: Rows) -> Rows:
    """Apply x · (1 + erf(x / √2)) / 2 in place."""
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        _apply_gelu(rows[begin : begin + ROWS_AT_ONCE])
    return rows


def _apply_gelu(rows: Rows) -> None:
    """Apply it as max(x, 0) - |x| · erfc(|x| / √2) / 2.

    That form needs erfc of positive numbers only, where the approximation holds, and does not cancel for negative x.
    """
    size = np.abs(rows)
    argument = size * _ROOT_OF_HALF
    slope = argument * _ERF_SLOPE
    slope += 1
    np.reciprocal(slope, out=slope)
    lost = slope * _ERF_FIRST
    for term in _ERF_TERMS:
        lost += term
        lost *= slope
    argument *= argument
    lost *= np.exp(np.negative(argument, out=argument), out=argument)
    lost *= size
    lost *= _HALF
    np.maximum(rows, 0, out=rows)
    rows -= lost

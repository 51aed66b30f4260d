"""Logistic regressions: the weights of features, as they are fitted and written down."""

from collections.abc import Mapping
from typing import NamedTuple


class Regression(NamedTuple):
    """The weight of each feature, in the order of the features, and what is added."""

    weights: Mapping[str, float]
    added: float

"""Confidence sequences: the size of an effect, by an interval that is valid however often it is checked.

An interval for a fixed number of sessions is wrong too often if someone checks daily and stops when they like the
result. These intervals are valid for all checks together, from the first on. That of the difference of two means after
`h` sessions of information is d ± sqrt(v (a² + log(h / START))), with v the estimated variance of d and a² the 95 %
quantile of χ² with three degrees of freedom: Brownian motion crosses sqrt(t (a² + log(t / m))) somewhere in [m, ∞) with
probability 2 (1 - Φ(a) + a φ(a)) exactly.

Sources: Robbins & Siegmund, Boundary crossing probabilities for the Wiener process and sample sums, 1970; Waudby-Smith,
Arbour, Sinha, Kennedy & Ramdas, Time-uniform central limit theory and asymptotic confidence sequences, 2021
(arXiv:2103.06476), for means of what is not Gaussian; Waudby-Smith & Ramdas, Distribution-uniform anytime-valid
inference, 2023 (arXiv:2311.03343), for the delayed start and p; Holm, A simple sequentially rejective multiple test
procedure, 1979.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import erfc, exp, log, pi, sqrt
from typing import NamedTuple

START = 16.0
"""Information at the first look: as of 20 sessions without something and 80 with it. Before, nothing is said."""
SQUARED_95 = 7.814728
SURE = 0.05
EARLY = START / 2
"""Information from which on something may look harmful."""
BORROWED, BORROWED_BY_BLAME = 4, 32
"""How many sessions' worth of variance each side takes from both together. A rare setback may not have happened in the
small one, which would then seem to be certain. To blame many things at once takes more: few sessions that went
well vary by little, and what the others had then looks like harm."""


class Sample(NamedTuple):
    """Sessions of one side: how many, their mean and their variance."""

    number: int
    mean: float
    variance: float


@dataclass(frozen=True)
class MeanDifference:
    """A difference of two means with its interval, and how likely one as large is where nothing changes."""

    value: float
    low: float
    high: float
    p: float


def compare(*strata: tuple[Sample, Sample]) -> MeanDifference | None:
    """Return how much the mean of those that received it exceeds that of the others; None before the first look.

    The randomization is the only assumption: each session received it or not by lot. What happens in it may be counts,
    yes or no, or anything else with a variance.

    Args:
        strata: Those that received it and the others, among the sessions of one share. Sessions of another share are
            compared with each other alone: their time may have been a better or a worse one.
    """
    found = _combine(strata)
    if found is None or found.information < START:
        return None
    value, more = found.value, log(found.information / START)
    if not found.variance:
        return MeanDifference(value, value, value, 1.0)
    width = sqrt(found.variance * (SQUARED_95 + more))
    return MeanDifference(value, value - width, value + width, _crossing(value**2 / found.doubted - more))


def looks_harmful(*strata: tuple[Sample, Sample]) -> bool:
    """Whether those that received it did worse by a standard error: no proof, and worth finding out about soon."""
    found = _combine(strata)
    return found is not None and found.information >= EARLY and found.value > sqrt(found.doubted)


class _Combined(NamedTuple):
    """The difference of all strata together, its variance, and that by which something is blamed."""

    information: float
    value: float
    variance: float
    doubted: float


def _combine(strata: Sequence[tuple[Sample, Sample]]) -> _Combined | None:
    compared = [(told, withheld) for told, withheld in strata if told.number and withheld.number]
    if not compared:
        return None
    weights = [told.number * withheld.number / (told.number + withheld.number) for told, withheld in compared]
    information = sum(weights)
    shares = [weight / information for weight in weights]
    sides = [side for pair in compared for side in pair]
    pooled = sum(side.number * side.variance for side in sides) / sum(side.number for side in sides)
    variance, doubted = (
        sum(
            # Each stratum borrows by its share: all of them together no more than one alone would.
            share**2 * sum(_steady(side, pooled, borrowed * share) / side.number for side in pair)
            for share, pair in zip(shares, compared, strict=True)
        )
        for borrowed in (BORROWED, BORROWED_BY_BLAME)
    )
    value = sum(share * (told.mean - withheld.mean) for share, (told, withheld) in zip(shares, compared, strict=True))
    return _Combined(information, value, variance, doubted)


def find_sure(p_of: Mapping[int, float]) -> set[int]:
    """Return which of many are certain, with at most a 5 % chance of any wrong one among them (Holm's procedure)."""
    sure: set[int] = set()
    for place, key in enumerate(sorted(p_of, key=lambda key: p_of[key])):
        if p_of[key] > SURE / (len(p_of) - place):
            break
        sure.add(key)
    return sure


def _steady(side: Sample, pooled: float, borrowed: float) -> float:
    return ((side.number - 1) * side.variance + borrowed * pooled) / (side.number - 1 + borrowed)


def _crossing(squared: float) -> float:
    """Return the probability that no real difference ever goes so far: 2 (1 - Φ(a) + a φ(a))."""
    a = sqrt(max(0.0, squared))
    return min(1.0, erfc(a / sqrt(2)) + a * sqrt(2 / pi) * exp(-squared / 2 if squared > 0 else 0.0))

"""How good a ranking is: recall@10, the reciprocal rank of the first answer, and nDCG@10, as BEIR counts them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass
from math import log2
from statistics import fmean

DEPTH = 10
RANKED = 100
"""How many places are looked at for the first answer."""


@dataclass(frozen=True)
class Quality:
    """How good one ranking is, or many on average."""

    recall: float
    mrr: float
    ndcg: float

    def __str__(self) -> str:
        return " | ".join(f"{figure:.3f}" for figure in astuple(self))


NOTHING = Quality(0.0, 0.0, 0.0)


def quality_of(ranking: Sequence[str], answers: Mapping[str, int]) -> Quality:
    """Judge one ranking by the grades of the documents that answer the question."""
    first = next((place for place, document in enumerate(ranking[:RANKED], start=1) if document in answers), None)
    gain = _discounted([answers.get(document, 0) for document in ranking[:DEPTH]])
    ideal = _discounted(sorted(answers.values(), reverse=True)[:DEPTH])
    return Quality(
        recall=len(answers.keys() & set(ranking[:DEPTH])) / len(answers),
        mrr=1 / first if first else 0.0,
        ndcg=gain / ideal,
    )


def mean_of(qualities: Collection[Quality]) -> Quality:
    """Average over questions."""
    return Quality(*map(fmean, zip(*map(astuple, qualities), strict=True)))


def _discounted(grades: Sequence[int]) -> float:
    return sum(grade / log2(place + 1) for place, grade in enumerate(grades, start=1))

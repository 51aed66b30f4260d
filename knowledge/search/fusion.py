"""Fusion: one ranking of two. `docs/benchmarks.md` has the figures of every recipe; the default is the one they chose.

What comes in: `keyword`, how much of the question's words a passage holds, rare words counting more (0…1, where 1 is
all of them), and `vector`, the cosine of question and passage.

`blend` adds both, half and half. Cosines are brought to 0…1 among the candidates, since a model gives even the best
passage any height it likes. The keyword score is taken as it is: it says by itself whether words are to be trusted.
Stretched as well, the best of some poor matches would count like a perfect one, and spoil every question that is asked
in other words than it was answered in. What was stored a moment ago and has no vector yet counts by its words alone,
fully: nobody knows how near it is. `rrf` adds reciprocal ranks: no score is read, so none can mislead, nor help.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from django.conf import settings

Scores = Mapping[int, float]
Place = tuple[object, int]

WEIGHT = 0.5
RRF_K = 60
NEIGHBOUR_SHARE = 0.4
# How much of a neighbour counts by its distance: the one after next has less to do with it.
REACH = {1: 1.0, 2: 0.5}


@dataclass(frozen=True)
class Fused:
    """The score of one passage, which arms found it, and what each of them said, brought to 0…1."""

    score: float
    arms: tuple[str, ...]
    parts: Mapping[str, float] = field(default_factory=dict)


def fuse(keyword: Scores, vector: Scores, *, without_vector: Container[int] = (), recipe: str = "") -> dict[int, Fused]:
    """Join the scores of both arms, by passage. An arm that found nothing leaves the ranking to the other.

    Args:
        without_vector: Passages whose vectors are still to be made.
        recipe: One of RECIPES. Default: the setting `BIGMIND_SEARCH_FUSION`.
    """
    arms = RECIPES[recipe or settings.SEARCH_FUSION](keyword, vector)
    found = {name: scores for name, scores in arms.items() if scores}
    weight = WEIGHT if len(found) == 2 else 1.0
    passages = dict.fromkeys(passage for scores in found.values() for passage in scores)
    return {
        passage: Fused(
            score=sum(scores.get(passage, 0.0) for scores in found.values())
            * (1.0 if passage in without_vector else weight),
            arms=tuple(name for name, scores in found.items() if passage in scores),
            parts={name: scores[passage] for name, scores in found.items() if passage in scores},
        )
        for passage in passages
    }


def support_neighbours(scores: Scores, places: Mapping[int, Place]) -> dict[int, float]:
    """Let exchanges that follow each other in a session lift one another: the answer often stands beside the question.

    Only what stands beside something better than the usual neighbour is lifted. If every exchange were, any of them
    would pass a fact that fits as well but, being a fact, has no neighbours.

    Args:
        places: For each passage of a conversation, the session and the place in it.
    """
    by_place: dict[Place, float] = {}
    for passage, place in places.items():
        by_place[place] = max(by_place.get(place, 0.0), scores.get(passage, 0.0))
    beside = {passage: _beside(place, by_place) for passage, place in places.items()}
    usual = sum(beside.values()) / max(1, len(beside))
    lifts = {passage: NEIGHBOUR_SHARE * max(0.0, near - usual) for passage, near in beside.items()}
    return {passage: scores.get(passage, 0.0) + lifts.get(passage, 0.0) for passage in {**scores, **places}}


def _beside(place: Place, by_place: Mapping[Place, float]) -> float:
    """What stands before or after a place, the better of each distance."""
    session, number = place
    return sum(
        share * max(by_place.get((session, number - step), 0.0), by_place.get((session, number + step), 0.0))
        for step, share in REACH.items()
    )


def _stretched(scores: Scores) -> dict[int, float]:
    """Bring scores to 0…1 by their smallest and largest; alike scores all count 1."""
    smallest, largest = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    span = largest - smallest
    return {passage: (score - smallest) / span if span else 1.0 for passage, score in scores.items()}


def _reciprocal_ranks(scores: Scores) -> dict[int, float]:
    """Score by rank alone: the first counts 1, the 62nd half as much."""
    ranked = sorted(scores, key=lambda passage: (-scores[passage], passage))
    return {passage: (RRF_K + 1) / (RRF_K + rank) for rank, passage in enumerate(ranked, start=1)}


RECIPES: dict[str, Callable[[Scores, Scores], dict[str, Scores]]] = {
    "blend": lambda keyword, vector: {"keyword": keyword, "vector": _stretched(vector)},
    "rrf": lambda keyword, vector: {"keyword": _reciprocal_ranks(keyword), "vector": _reciprocal_ranks(vector)},
    "keyword": lambda keyword, _: {"keyword": keyword},
    "vector": lambda _, vector: {"vector": _stretched(vector)},
}

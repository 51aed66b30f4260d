"""Fusion: one ranking of two. Both arms count alike, each brought to 0…1 among what it found.

Measured before BigMind was begun, on conversation turns and on Cranfield: better than either arm, than reciprocal ranks
and than weighting raw scores, whose scales have nothing to do with each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass

WEIGHT = 0.5
NEIGHBOUR_SHARE = 0.3


@dataclass(frozen=True)
class Fused:
    """The score of one passage, and which arms found it."""

    score: float
    arms: tuple[str, ...]


def fuse(keyword: Mapping[int, float], vector: Mapping[int, float]) -> dict[int, Fused]:
    """Blend the scores of both arms, by passage. An arm that found nothing leaves the ranking to the other."""
    arms = {name: _stretched(found) for name, found in (("keyword", keyword), ("vector", vector)) if found}
    weight = WEIGHT if len(arms) == 2 else 1.0
    passages = dict.fromkeys(passage for found in arms.values() for passage in found)
    return {
        passage: Fused(
            score=sum(weight * found.get(passage, 0.0) for found in arms.values()),
            arms=tuple(name for name, found in arms.items() if passage in found),
        )
        for passage in passages
    }


def support_neighbours(scores: Mapping[int, float], places: Mapping[int, tuple[object, int]]) -> dict[int, float]:
    """Let exchanges that follow each other in a session lift one another: the answer often stands beside the question.

    Args:
        places: For each passage of a conversation, the session and the place in it.
    """
    by_place: dict[tuple[object, int], float] = {}
    for passage, place in places.items():
        by_place[place] = max(by_place.get(place, 0.0), scores.get(passage, 0.0))
    lifted = dict(scores)
    for passage, (session, number) in places.items():
        beside = max(by_place.get((session, number - 1), 0.0), by_place.get((session, number + 1), 0.0))
        lifted[passage] = scores.get(passage, 0.0) + NEIGHBOUR_SHARE * beside
    return lifted


def _stretched(scores: Mapping[int, float]) -> dict[int, float]:
    """Bring scores to 0…1 by their smallest and largest; alike scores all count 1."""
    smallest, largest = min(scores.values()), max(scores.values())
    span = largest - smallest
    return {passage: (score - smallest) / span if span else 1.0 for passage, score in scores.items()}

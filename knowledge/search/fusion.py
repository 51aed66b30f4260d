"""Fusion: one ranking of two. `docs/benchmarks.md` has the figures of every recipe; the default is the one they chose.

What comes in, for every candidate, whichever arm found it: `keyword`, how much of the question's words a passage holds,
rare words counting more (0…1, where 1 is all of them), and `vector`, the cosine of question and passage.

`blend` adds 0.4 of the one and 0.6 of the other, both as they are: a score means the same in every answer, and the best
of nothing but poor matches stays poor. `rrf` adds reciprocal ranks: no score is read, so none can mislead, nor help.

What was stored a moment ago and has no vector yet is taken to be as near as what was found by words usually is. Were it
taken to be far, it would stand behind whatever is nearest; were its words to count alone, a collection that waits for
its vectors would stand before everything that has one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

from django.conf import settings

Scores = Mapping[int, float]
Place = tuple[object, int]

WORDS, MEANING = 0.4, 0.6
RRF_K = 60
NEIGHBOUR_SHARE = 0.3
# How much of a neighbour counts by its distance: the one after next has less to do with it.
REACH = {1: 1.0, 2: 0.5}


@dataclass(frozen=True)
class Fused:
    """The score of one passage, which arms know it, and what each of them adds to the score."""

    score: float
    arms: tuple[str, ...]
    parts: Mapping[str, float] = field(default_factory=dict)


def fuse(keyword: Scores, vector: Scores, *, recipe: str = "") -> dict[int, Fused]:
    """Join the scores of both arms, by passage. Without any vector the words decide alone.

    Args:
        keyword: Of the passages that have any of the words.
        vector: Of all candidates; one that is not among them has no vector yet.
        recipe: One of RECIPES. Default: the setting `BIGMIND_SEARCH_FUSION`.
    """
    arms = RECIPES[recipe or settings.SEARCH_FUSION](keyword, vector)
    used = {name: arm for name, arm in arms.items() if arm.scores}
    # Of meaning nothing can be said: words are all there is. Words that stand nowhere say something: that they do not.
    whole = sum(arm.weight for name, arm in arms.items() if name in used or name == "keyword")
    passages = dict.fromkeys(passage for arm in used.values() for passage in arm.scores)
    return {passage: _fused(passage, used, whole) for passage in passages}


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


@dataclass(frozen=True)
class _Arm:
    """What one arm adds: its scores, how much they weigh, and what counts for a passage that has none."""

    scores: Scores
    weight: float
    otherwise: float = 0.0


def _fused(passage: int, arms: Mapping[str, _Arm], whole: float) -> Fused:
    shares = {name: arm.scores.get(passage, arm.otherwise) * (arm.weight / whole) for name, arm in arms.items()}
    known = tuple(name for name, arm in arms.items() if passage in arm.scores)
    return Fused(sum(shares.values()), known, {name: shares[name] for name in known})


def _usual(keyword: Scores, vector: Scores) -> float:
    """How near those passages usually are that were found by their words."""
    return median([vector[passage] for passage in keyword if passage in vector] or vector.values() or [0.0])


def _positive(scores: Scores) -> dict[int, float]:
    """A cosine below 0 says no more than 0: that both have nothing to do with each other."""
    return {passage: max(0.0, score) for passage, score in scores.items()}


def _blend(keyword: Scores, vector: Scores) -> dict[str, _Arm]:
    near = _positive(vector)
    return {"keyword": _Arm(keyword, WORDS), "vector": _Arm(near, MEANING, _usual(keyword, near))}


def _by_ranks(keyword: Scores, vector: Scores) -> dict[str, _Arm]:
    words, near = _reciprocal_ranks(keyword), _reciprocal_ranks(vector)
    return {"keyword": _Arm(words, 0.5), "vector": _Arm(near, 0.5, _usual(keyword, near))}


def _reciprocal_ranks(scores: Scores) -> dict[int, float]:
    """Score by rank alone: the first counts 1, the 62nd half as much."""
    ranked = sorted(scores, key=lambda passage: (-scores[passage], -passage))
    return {passage: (RRF_K + 1) / (RRF_K + rank) for rank, passage in enumerate(ranked, start=1)}


RECIPES: dict[str, Callable[[Scores, Scores], dict[str, _Arm]]] = {
    "blend": _blend,
    "rrf": _by_ranks,
    "keyword": lambda keyword, _: {"keyword": _Arm(keyword, 1.0)},
    "vector": lambda _, vector: {"vector": _Arm(_positive(vector), 1.0)},
}

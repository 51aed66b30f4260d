"""Fusion: merges two rankings into one. `docs/benchmarks.md` has the figures of every recipe; they chose the default.

The input, for every candidate of either retriever: `keyword`, the share of the question's words that a passage has,
rare words counting more (0…1, where 1 is all of them), and `vector`, the cosine of question and passage.

`blend` adds 0.4 of the square of the one and 0.6 of the other without normalising them per query: a score means the
same in every answer, and the best of nothing but poor matches stays poor. Squared, one word of many that a passage
happens to have counts little, and all of them count in full (decision 120). `rrf` is reciprocal rank fusion (Cormack,
Clarke and Büttcher, 2009): it reads no scores, so a misleading score does no harm, and a clear one does no good.

A passage stored a moment ago has no vector yet. It is scored with the median similarity of what the words found. Scored
with 0, it would rank below whatever is nearest; scored by its words alone, a collection that waits for its vectors
would rank above everything that has them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from django.conf import settings

Scores = Mapping[int, float]
Place = tuple[object, int]

WORDS, MEANING = 0.4, 0.6
"""Other weights made no difference beyond chance on our corpora. Decisions 9 and 23."""
# From here to PERIOD: chosen on all shapes of text at once, as a recipe that gains on one of them can lose on
# another. Decision 34 has the effect of each, and what did not help.
ASKING = 0.05
"""Taken from a short turn that is itself a question."""
SPEAKER = 0.03
"""Added to a short turn of someone whom the question names."""
USER = 0.05
"""Added to what the user said where someone else speaks at length. With 0.08 and more, `assistants` lost a hundredth of
nDCG."""
LATE = 0.5
"""How much late interaction moves what it compared, by how it differs from their average."""
PERIOD = 0.2
"""Added to what was said in the period that the question names."""
RRF_K = 60
"""The constant of Cormack, Clarke and Büttcher."""
NEIGHBOUR_SHARE = 0.3
"""0.2 to 0.5 were compared on two corpora."""
# How much of a neighbour's score counts, by its distance: the one after next is less related.
REACH = {1: 1.0, 2: 0.5}


class Fused(NamedTuple):
    """The score of one passage, the retrievers that scored it, and what each of them adds to the score."""

    score: float
    retrievers: tuple[str, ...]
    parts: Mapping[str, float]


def fuse(keyword: Scores, vector: Scores, *, recipe: str = "") -> dict[int, Fused]:
    """Merge the scores of both retrievers; return the result by passage. Without any vector only the words count.

    Args:
        keyword: Scores of the passages that have any of the words.
        vector: Scores of all candidates; one without a score has no vector yet.
        recipe: One of RECIPES. Default: the setting `BIGMIND_SEARCH_FUSION`.
    """
    used, whole, passages = dict[str, _Ranking](), 0.0, dict[int, None]()
    for name, ranking in RECIPES[recipe or settings.SEARCH_FUSION](keyword, vector).items():
        # Without vectors the words count in full, because nothing is known of the meaning. Without keyword matches the
        # words keep their weight: that none of them occurs is known, and lowers every score.
        if ranking.scores or name == "keyword":
            whole += ranking.weight
        if ranking.scores:
            used[name] = ranking
            passages |= dict.fromkeys(ranking.scores)
    weighed = [(name, ranking.scores, ranking.weight / whole, ranking.otherwise) for name, ranking in used.items()]
    fused = {}
    # A search has a thousand candidates: a call for each would take longer than the sums.
    for passage in passages:
        score, parts = 0.0, {}
        for name, scores, weight, otherwise in weighed:
            share = scores.get(passage, otherwise) * weight
            score += share
            if passage in scores:
                parts[name] = share
        fused[passage] = Fused(score, tuple(parts), parts)
    return fused


def support_neighbours(scores: Scores, places: Mapping[int, Place]) -> dict[int, float]:
    """Return the scores with those of neighbouring exchanges added: the answer is often next to the question.

    A passage is lifted only by neighbours that are better than the average neighbour. If every exchange were lifted,
    any of them would outrank a fact that fits as well but, being a fact, has no neighbours.

    Args:
        places: For each passage of a conversation, the session and its position there.
    """
    by_place: dict[Place, float] = {}
    for passage, place in places.items():
        by_place[place] = max(by_place.get(place, 0.0), scores.get(passage, 0.0))
    beside = {passage: _beside(place, by_place) for passage, place in places.items()}
    usual = sum(beside.values()) / max(1, len(beside))
    lifts = {passage: NEIGHBOUR_SHARE * max(0.0, near - usual) for passage, near in beside.items()}
    return {passage: scores.get(passage, 0.0) + lifts.get(passage, 0.0) for passage in {**scores, **places}}


class Turn(NamedTuple):
    """An exchange of a conversation: its session and position there, and what of it counts beside its words.

    `said_at` is in microseconds since 1970, `asks` says whether it is itself a question, `speaker` has the name that
    stands before its words.
    """

    place: Place
    said_at: int
    role: str
    is_long: bool
    asks: bool
    speaker: str


def weigh_turns(scores: Scores, turns: Mapping[int, Turn], question: str) -> dict[int, float]:
    """Return the scores with what is known of exchanges, which differs between two kinds of conversation.

    Where all turns are short, a turn makes sense beside its neighbours only, a question answers nothing, and names
    stand before words. Where some are long, as an assistant's are, each says for itself what it is about, so neighbours
    add nothing to them, and what is worth knowing is mostly what the user said.
    """
    if not turns:
        return dict(scores)
    long_sessions = {turn.place[0] for turn in turns.values() if turn.is_long}
    names = set(question.casefold().replace("'", " ").replace("’", " ").split())
    weighed = dict(scores)
    for passage, turn in turns.items():
        if turn.place[0] not in long_sessions:
            plus = SPEAKER if turn.speaker in names else 0.0
            weighed[passage] = scores.get(passage, 0.0) + plus - (ASKING if turn.asks else 0.0)
    lifted = support_neighbours(weighed, {passage: turn.place for passage, turn in turns.items()})
    for passage, turn in turns.items():
        if turn.is_long:
            lifted[passage] = weighed.get(passage, 0.0)
        if turn.place[0] in long_sessions and turn.role == "user":
            lifted[passage] += USER
    return lifted


def add_late(scores: Scores, late: Scores) -> dict[int, float]:
    """Return the scores moved by late interaction: up where it is above the average of what it compared, or down.

    Only differences count, so that a score means the same with it and without it, as for passages without tokens.
    """
    if not late:
        return dict(scores)
    usual = sum(late.values()) / len(late)
    return {passage: score + LATE * (late.get(passage, usual) - usual) for passage, score in scores.items()}


def _beside(place: Place, by_place: Mapping[Place, float]) -> float:
    """Return the weighted scores before and after a position, the better one of each distance."""
    (session, number), near = place, 0.0
    for step, share in REACH.items():
        near += share * max(by_place.get((session, number - step), 0.0), by_place.get((session, number + step), 0.0))
    return near


@dataclass(frozen=True)
class _Ranking:
    """The scores of one retriever, their weight, and the score of a passage that has none (`otherwise`)."""

    scores: Scores
    weight: float
    otherwise: float = 0.0


def _usual(keyword: Scores, vector: Scores) -> float:
    """Return the median similarity of the passages that the words found: a guess for one without a vector."""
    found = [*map(vector.__getitem__, keyword.keys() & vector.keys())]
    return median(found or vector.values() or [0.0])


def _positive(scores: Scores) -> Scores:
    """Clip scores at 0: a cosine below 0 means no more than 0, that question and passage are unrelated."""
    if min(scores.values(), default=0.0) >= 0.0:
        return scores
    return {passage: max(0.0, score) for passage, score in scores.items()}


def _blend(keyword: Scores, vector: Scores) -> dict[str, _Ranking]:
    near, words = _positive(vector), {passage: share * share for passage, share in keyword.items()}
    return {"keyword": _Ranking(words, WORDS), "vector": _Ranking(near, MEANING, _usual(keyword, near))}


def _by_ranks(keyword: Scores, vector: Scores) -> dict[str, _Ranking]:
    words, near = _reciprocal_ranks(keyword), _reciprocal_ranks(vector)
    return {"keyword": _Ranking(words, 0.5), "vector": _Ranking(near, 0.5, _usual(keyword, near))}


def _reciprocal_ranks(scores: Scores) -> dict[int, float]:
    """Return scores by rank alone, scaled so that the first has 1 and the 62nd half as much."""
    ranked = sorted(scores, key=lambda passage: (-scores[passage], -passage))
    return {passage: (RRF_K + 1) / (RRF_K + rank) for rank, passage in enumerate(ranked, start=1)}


RECIPES: dict[str, Callable[[Scores, Scores], dict[str, _Ranking]]] = {
    "blend": _blend,
    "rrf": _by_ranks,
    "keyword": lambda keyword, _: {"keyword": _Ranking(keyword, 1.0)},
    "vector": lambda _, vector: {"vector": _Ranking(_positive(vector), 1.0)},
}

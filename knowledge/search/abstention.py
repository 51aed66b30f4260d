"""Abstention: decides whether any hit answers a question, or merely comes closest to it.

Something is always nearest in meaning, so a list that is not empty proves nothing. The first hits together decide, by
their similarity and by the question's words, rare ones counting more: which one hit contains, all of them together, and
no passage at all. `python -m benchmarks --only unknown --write` fits the weights. Of a list that answers, `may_answer`
picks the hits; its thresholds were fitted on two corpora, each asked its own questions and the other's.
docs/decisions/0024 has the results.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import exp
from operator import mul
from statistics import fmean

from knowledge.argument_types import Relevance
from knowledge.search.findings import Finding, Findings
from knowledge.search.nearest_names import suggest_words
from knowledge.search.relevance_weights import FLOOR as FLOOR_OF_LIST
from knowledge.search.relevance_weights import FROM_ELSEWHERE, ON_TOPIC

FLOOR = 0.36
"""Cosine of question and passage. Below it a model says little more than that both are sentences."""
WORDS_COUNT = 0.3
"""Added to the cosine of a passage that has all words of the question; common words alone add hardly anything."""
ALL_WORDS = 0.8
"""Share of the question's words, the rare ones counting more, that is enough whatever a model makes of it."""
WORDS_ALONE = 0.3
"""Share that a passage needs while its meaning is not known."""
GAP, GAP_SHARE = 0.08, 0.1
"""A statement is much weaker than the best one when it is below by the one and by this share of the best score.
Chosen on all shapes of `benchmarks/retrieval` at once: with longer texts in the list, every gap that was tried cost
recall."""
CLEAR = 0.35
"""A score from which a statement is shown however good the best one is. Without it, facts that changed lost recall."""

FEATURES = tuple(ON_TOPIC.weights)
JUDGED = 5
"""Hits by which a list is judged: so many every search returns."""


@dataclass(frozen=True)
class Judgement:
    """Whether what was found is `weak`: it only comes closest. Then, or when nothing was found, what may be meant."""

    weak: bool = False
    did_you_mean: list[str] = field(default_factory=list)


def judge(query: str, found: Findings, *, names: Callable[[], Iterable[str]] = tuple) -> Judgement:
    """Return whether the findings answer the question, and if not, up to three existing words that are spelled alike.

    Args:
        names: Returns topics, tags and keys that the user may see. Called only when nothing answers.
    """
    if is_answered(found):
        return Judgement()
    return Judgement(bool(found.items), suggest_words(query, names=names(), texts=[item.text for item in found.items]))


def is_answered(found: Findings) -> bool:
    """Return whether what was found may answer the question.

    What has no vector yet, or nearly all words of the question, answers whatever a model makes of it.
    """
    first = found.items[:JUDGED]
    # The regressions would take a missing cosine for 0, and call everything unknown while vectors are being made.
    if any(item.vector is None or (item.keyword or 0.0) >= ALL_WORDS for item in first):
        return any(may_answer(item) for item in found.items)
    return relevance_of(found) >= FLOOR_OF_LIST


def count_strong(items: Sequence[Finding], statements: Collection[str]) -> int:
    """Return how many of the first findings are worth showing: those before one much weaker than the best.

    Only a list of nothing but statements ends early, when the meaning of each is known: a page that is always filled
    tells ten beliefs where one matters. docs/benchmarks.md has what that brings and costs.

    Args:
        statements: The kinds of one sentence each.
    """
    if any(item.kind not in statements or item.vector is None for item in items):
        return len(items)
    best = best_score(items)
    return next((number for number, item in enumerate(items) if is_much_weaker(item, best)), len(items))


def best_score(items: Iterable[Finding]) -> float:
    """Return the best score of a list; 0 of an empty one."""
    return max((item.score for item in items), default=0.0)


def is_much_weaker(item: Finding, best: float) -> bool:
    """Return whether one finding scores much less than the best one of its list."""
    return item.score < min(CLEAR, best - GAP - GAP_SHARE * best)


def relevance_of(found: Findings) -> float:
    """Return how likely it is that what was found answers the question, 0 to 1.

    Two logistic regressions tell an answer from what a question about something else finds, and from what is on the
    topic only. By Bayes' theorem their odds add up. `python -m benchmarks --only unknown` fits both, and
    docs/benchmarks.md has the calibration curve.
    """
    if not found.items:
        return 0.0
    features = features_of(found)
    # Each is the odds of the other class against an answer.
    against = [exp(-one.added - sum(map(mul, one.weights.values(), features))) for one in (FROM_ELSEWHERE, ON_TOPIC)]
    return 1 / (1 + fmean(against))


def features_of(found: Findings) -> list[float]:
    """Return the features of a list of hits, in the order of FEATURES; FROM_ELSEWHERE has the first few of them."""
    first, weights = found.items[:JUDGED], found.weights
    cosines = [item.vector or 0.0 for item in first] or [0.0]
    words = [item.keyword or 0.0 for item in first] or [0.0]
    whole, matched = sum(weights.values()) or 1.0, {word for item in first for word in item.matched}
    together = sum(weight for word, weight in weights.items() if word in matched) / whole
    missing = sum(weights.get(word, 0.0) for word in found.missing) / whole
    return [max(cosines), cosines[0], fmean(cosines), max(words), words[0], together, missing, len(weights) / 10]


def name_relevance(item: Finding, *, is_known: bool, best: float) -> Relevance:
    """Return how relevant a hit is, in a word.

    Args:
        is_known: Whether the list it stands in answers the question: a hit of another one is weak.
        best: The best score of that list. What scores much less is related only.
    """
    if not is_known or not may_answer(item):
        return "weak"
    return "related" if is_much_weaker(item, best) else "strong"


def may_answer(item: Finding) -> bool:
    """Return whether one finding clears the floor, so that it may answer the question."""
    words = item.keyword or 0.0
    if item.vector is None:
        return words >= WORDS_ALONE
    return words >= ALL_WORDS or item.vector + WORDS_COUNT * words >= FLOOR

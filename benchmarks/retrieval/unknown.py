"""Known or unknown: how likely what a question found answers it, fitted to questions whose answer is there or is not.

Each question is asked of its own memory, then of what is left of the list without its answers (on the topic, the answer
absent), and of the other memory (about something else). The weights are fitted on half A of the questions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.retrieval.beir import CHATS, OURS, Corpus, read_corpus
from benchmarks.retrieval.memory import remember
from benchmarks.retrieval.recipes import ask
from benchmarks.retrieval.tables import half_of
from knowledge.search.abstention import FEATURES, JUDGED, features_of

WEIGHTS = Path(__file__).parents[2] / "knowledge" / "search" / "relevance_weights.py"
ANSWERED, ABSENT, ELSEWHERE = "the answer is there", "on the topic, the answer is absent", "about something else"
READ = 30
MOST_FLAGGED = 0.05
"""Of the questions whose answer is found: so many may be called unknown."""
SHRINK = 0.01
BINS = 5

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """One question of one memory: of which sort, in which half, and the features of what it found."""

    sort: str
    half: str
    features: list[float]


@dataclass(frozen=True)
class Fitted:
    """A logistic regression: the weight of each feature, what is added, and the relevance from which it is known."""

    weights: list[float]
    added: float
    floor: float

    def relevance(self, asked: Iterable[Asked]) -> Table:
        """Return for each how likely it is that what was found answers."""
        table = np.array([one.features for one in asked])
        return np.asarray(1 / (1 + np.exp(-(table @ np.array(self.weights) + self.added))))


def measure(*, write: bool) -> list[str]:
    """Ask all questions, fit on half A, and return the rates and the calibration curve of both halves."""
    corpora = [read_corpus(OURS), read_corpus(CHATS)]
    asked = [one for corpus in corpora for one in _ask_all(corpus, corpora)]
    fitted = _fit([one for one in asked if one.half == "A"])
    if write:
        WEIGHTS.write_text(_module_of(fitted))
    return [*_rates(asked, fitted), "", *_curve([one for one in asked if one.half == "B"], fitted)]


def _ask_all(corpus: Corpus, corpora: Sequence[Corpus]) -> list[Asked]:
    memory, found = remember(corpus), list[Asked]()
    for question in corpus.questions:
        items, half = ask(memory, question, limit=READ), half_of(question)
        answers = [memory.documents.get((item.kind, item.source_id)) in question.answers for item in items]
        if any(answers[:10]):
            rest = [item for item, is_answer in zip(items, answers, strict=True) if not is_answer]
            found += [Asked(ANSWERED, half, features_of(items)), Asked(ABSENT, half, features_of(rest))]
    others = [question for other in corpora if other is not corpus for question in other.questions]
    return found + [
        Asked(ELSEWHERE, half_of(question), features_of(ask(memory, question, limit=READ))) for question in others
    ]


def _fit(asked: Sequence[Asked]) -> Fitted:
    """Fit by Newton's method, each sort of question counting as much as it should: half of them have an answer."""
    table = np.array([[*one.features, 1.0] for one in asked])
    is_answered = np.array([one.sort == ANSWERED for one in asked])
    share = {sort: sum(one.sort == sort for one in asked) for sort in (ANSWERED, ABSENT, ELSEWHERE)}
    counts = np.array([(0.5 if one.sort == ANSWERED else 0.25) / share[one.sort] for one in asked])
    shrink = SHRINK * np.diag([1.0] * len(FEATURES) + [0.0]) / len(asked)
    weights = np.zeros(table.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-(table @ weights)))
        slope = table.T @ (counts * (likely - is_answered)) + shrink @ weights
        curvature = (table * (counts * likely * (1 - likely))[:, None]).T @ table + shrink
        weights -= np.linalg.solve(curvature, slope)
    fitted = Fitted([round(float(one), 3) for one in weights[:-1]], round(float(weights[-1]), 3), 0.0)
    relevance = fitted.relevance(one for one in asked if one.sort == ANSWERED)
    return Fitted(fitted.weights, fitted.added, round(float(np.quantile(relevance, 0.8 * MOST_FLAGGED)), 3))


def _rates(asked: Sequence[Asked], fitted: Fitted) -> list[str]:
    lines = ["| questions | half A | called unknown | half B, held out | called unknown |", "|---|---|---|---|---|"]
    for sort in (ANSWERED, ABSENT, ELSEWHERE):
        cells = [sort]
        for half in "AB":
            mine = [one for one in asked if (one.sort, one.half) == (sort, half)]
            cells += [str(len(mine)), f"{np.mean(fitted.relevance(mine) < fitted.floor):.1%}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _curve(asked: Sequence[Asked], fitted: Fitted) -> list[str]:
    """The share that is answered of what has about the same relevance; sorts counting as they did in the fit."""
    share = {sort: sum(one.sort == sort for one in asked) for sort in (ANSWERED, ABSENT, ELSEWHERE)}
    counts = np.array([(0.5 if one.sort == ANSWERED else 0.25) / share[one.sort] for one in asked])
    relevance, is_answered = fitted.relevance(asked), np.array([one.sort == ANSWERED for one in asked])
    lines, error = ["| relevance, half B | mean | answered | questions |", "|---|---|---|---|"], 0.0
    for number in range(BINS):
        inside = (relevance >= number / BINS) & (relevance < (number + 1) / BINS)
        if not inside.any():
            continue
        weight = counts[inside].sum()
        said, true = (float((counts[inside] * of[inside]).sum() / weight) for of in (relevance, is_answered))
        error += float(weight) * abs(said - true)
        span = f"{number / BINS:.1f} to {(number + 1) / BINS:.1f}"
        lines.append(f"| {span} | {said:.2f} | {true:.2f} | {inside.sum()} |")
    return [*lines, "", f"Calibration error: {error:.3f} (the mean difference of the two, by the number of questions)."]


def _module_of(fitted: Fitted) -> str:
    pairs = "".join(f'    "{name}": {weight},\n' for name, weight in zip(FEATURES, fitted.weights, strict=True))
    return (
        '"""The weights of relevance, as `python -m benchmarks --only unknown --write` fitted them. Do not edit."""\n\n'
        f"WEIGHTS = {{\n{pairs}}}\nADDED = {fitted.added}\nFLOOR = {fitted.floor}\n"
        f'"""Below it nothing that was found answers: of the first {JUDGED} hits."""\n'
    )

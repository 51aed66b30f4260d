"""Known or unknown: how likely what a question found answers it, fitted to questions whose answer is there or is not.

Each question is asked of its own memory, then of what is left of the list without its answers (on the topic, the answer
absent), and of the other memories (about something else). The weights are fitted on half A of the questions of two
corpora; the other corpora were never fitted to.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.retrieval.beir import CHATS, OURS, Corpus, read_corpus
from benchmarks.retrieval.memory import remember
from benchmarks.retrieval.recipes import ask
from benchmarks.retrieval.shapes import assistants, beliefs, errors, multilingual
from benchmarks.retrieval.tables import half_of
from knowledge.search.abstention import FEATURES, FROM_ELSEWHERE, JUDGED, features_of
from knowledge.search.logistic_regression import Regression

WEIGHTS = Path(__file__).parents[2] / "knowledge" / "search" / "relevance_weights.py"
ANSWERED, ABSENT, ELSEWHERE = "the answer is there", "on the topic, the answer is absent", "about something else"
READ = 30
EVERY = 3
"""Of the other corpora's questions, every third is asked."""
MOST_FLAGGED = 0.05
"""Of the questions whose answer is found: so many may be called unknown."""
LEEWAY = 0.7
"""Share of these that the floor takes in half A, since what was fitted to is judged better than what was not."""
FITTED = {"retrieval", "chats"}
SHRINK = 0.01
BINS = 5

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """One question of one memory: of which sort, in which half, and the features of what it found."""

    corpus: str
    sort: str
    half: str
    features: list[float]


@dataclass(frozen=True)
class Fitted:
    """Two logistic regressions, and the relevance from which something is known."""

    from_elsewhere: Regression
    on_topic: Regression
    floor: float = 0.0

    def relevance(self, asked: Iterable[Asked]) -> Table:
        """Return for each how likely it is that what was found answers: as `abstention.relevance_of` does."""
        table = np.array([one.features for one in asked])
        against = [
            np.exp(-(table[:, : len(one.weights)] @ np.array([*one.weights.values()]) + one.added))
            for one in (self.from_elsewhere, self.on_topic)
        ]
        return np.asarray(1 / (1 + sum(against) / 2))


def measure(*, write: bool) -> list[str]:
    """Ask all questions, fit on half A, and return the rates and the calibration curve of both halves."""
    corpora = [read_corpus(OURS), read_corpus(CHATS), assistants(), beliefs(), errors(), multilingual()]
    asked = [one for corpus in corpora for one in _ask_all(corpus, corpora)]
    fitted_to = [one for one in asked if one.corpus in FITTED]
    fitted = _fit([one for one in fitted_to if one.half == "A"])
    if write:
        WEIGHTS.write_text(_module_of(fitted))
    held_out = [one for one in asked if one.half == "B"]
    return [*_rates(fitted_to, fitted), "", *_by_corpus(held_out, fitted), "", *_curve(held_out, fitted)]


def _ask_all(corpus: Corpus, corpora: Sequence[Corpus]) -> list[Asked]:
    memory, asked = remember(corpus), list[Asked]()
    for question in corpus.questions:
        found, half = ask(memory, question, limit=READ), half_of(question)
        answers = [memory.documents.get((item.kind, item.source_id)) in question.answers for item in found.items]
        if any(answers[:10]):
            rest = [item for item, is_answer in zip(found.items, answers, strict=True) if not is_answer]
            asked.append(Asked(corpus.name, ANSWERED, half, features_of(found)))
            asked.append(Asked(corpus.name, ABSENT, half, features_of(replace(found, items=rest))))
    others = [question for other in corpora if other is not corpus for question in other.questions[::EVERY]]
    return asked + [
        Asked(corpus.name, ELSEWHERE, half_of(one), features_of(ask(memory, one, limit=READ))) for one in others
    ]


def _fit(asked: Sequence[Asked]) -> Fitted:
    fitted = Fitted(
        _regression(asked, ELSEWHERE, len(FROM_ELSEWHERE.weights)), _regression(asked, ABSENT, len(FEATURES))
    )
    relevance = fitted.relevance(one for one in asked if one.sort == ANSWERED)
    return replace(fitted, floor=round(float(np.quantile(relevance, LEEWAY * MOST_FLAGGED)), 3))


def _regression(asked: Sequence[Asked], against: str, features: int) -> Regression:
    """Fit by Newton's method what tells an answer from another sort; of both, all questions together count the same."""
    chosen = [one for one in asked if one.sort in {ANSWERED, against}]
    table = np.array([[*one.features[:features], 1.0] for one in chosen])
    is_answered = np.array([one.sort == ANSWERED for one in chosen])
    counts = 0.5 / np.where(is_answered, is_answered.sum(), (~is_answered).sum())
    shrink = SHRINK * np.diag([1.0] * features + [0.0]) / len(chosen)
    weights = np.zeros(features + 1)
    for _ in range(50):
        likely = 1 / (1 + np.exp(-(table @ weights)))
        slope = table.T @ (counts * (likely - is_answered)) + shrink @ weights
        curvature = (table * (counts * likely * (1 - likely))[:, None]).T @ table + shrink
        weights -= np.linalg.solve(curvature, slope)
    *each, added = (round(float(one), 3) for one in weights)
    return Regression(dict(zip(FEATURES, each, strict=False)), added)


def _rates(asked: Sequence[Asked], fitted: Fitted) -> list[str]:
    lines = ["| questions | half A | called unknown | half B, held out | called unknown |", "|---|---|---|---|---|"]
    for sort in (ANSWERED, ABSENT, ELSEWHERE):
        cells = [sort]
        for half in "AB":
            mine = [one for one in asked if (one.sort, one.half) == (sort, half)]
            cells += [str(len(mine)), f"{np.mean(fitted.relevance(mine) < fitted.floor):.1%}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _by_corpus(asked: Sequence[Asked], fitted: Fitted) -> list[str]:
    """How well the questions of each corpus are told apart; those not in FITTED are of a kind never fitted to."""
    lines = [
        f"| half B | questions | AUC, {ABSENT} | AUC, {ELSEWHERE} | called unknown: answered, absent, else |",
        "|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(one.corpus for one in asked):
        of = {
            sort: fitted.relevance(one for one in asked if (one.corpus, one.sort) == (name, sort))
            for sort in (ANSWERED, ABSENT, ELSEWHERE)
        }
        flagged = ", ".join(f"{np.mean(relevance < fitted.floor):.1%}" for relevance in of.values())
        areas = " | ".join(f"{_area(of[ANSWERED], of[sort]):.3f}" for sort in (ABSENT, ELSEWHERE))
        lines.append(f"| {name}{'' if name in FITTED else ', unseen'} | {len(of[ANSWERED])} | {areas} | {flagged} |")
    return lines


def _area(above: Table, below: Table) -> float:
    """Return how often one of the first is above one of the second: the area under the curve (AUC)."""
    higher = (above[:, None] > below[None, :]).mean()
    return float(higher + (above[:, None] == below[None, :]).mean() / 2)


def _curve(asked: Sequence[Asked], fitted: Fitted) -> list[str]:
    """The share that is answered of what has about the same relevance; half of all count as answered."""
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
    written: Callable[[Regression], str] = lambda one: "".join(  # noqa: E731
        f'        "{name}": {weight},\n' for name, weight in one.weights.items()
    )
    return (
        '"""The weights of relevance, as `python -m benchmarks --only unknown --write` fitted them. Do not edit."""\n\n'
        "from knowledge.search.logistic_regression import Regression\n\n"
        f"FROM_ELSEWHERE = Regression(\n    {{\n{written(fitted.from_elsewhere)}    }},\n"
        f"    {fitted.from_elsewhere.added},\n)\n"
        f"ON_TOPIC = Regression(\n    {{\n{written(fitted.on_topic)}    }},\n    {fitted.on_topic.added},\n)\n"
        f"FLOOR = {fitted.floor}\n"
        f'"""Below it nothing that was found answers: of the first {JUDGED} hits."""\n'
    )

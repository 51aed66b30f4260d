"""Abstention: whether anything that was found answers a question, or merely comes closest to it.

Something is always nearest in meaning, so a list that is not empty proves nothing. What counts is the best of the hits:
how much of the question it has in its words, the rare ones counting more, and how near it is in meaning. The figures
were fitted on the two corpora in `benchmarks/retrieval`, asked their own questions and each other's;
docs/decisions/0024 says what they are worth.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from knowledge.search.hybrid import Finding, Findings
from knowledge.search.nearest import suggest_words

FLOOR = 0.36
"""Cosine of question and passage. Below it a model says little more than that both are sentences."""
WORDS_COUNT = 0.3
"""How much a passage is lifted that has all words of the question; one that has common ones alone is hardly lifted."""
ALL_WORDS = 0.8
"""Share of the question's words, the rare ones counting more, that is enough whatever a model makes of it."""
WORDS_ALONE = 0.3
"""Share that a passage needs while its meaning is not known."""


@dataclass(frozen=True)
class Judgement:
    """Whether what was found is `weak`: it only comes closest. Then, or when nothing was found, what may be meant."""

    weak: bool = False
    did_you_mean: list[str] = field(default_factory=list)


def judge(query: str, found: Findings, *, names: Callable[[], Iterable[str]] = tuple) -> Judgement:
    """Say whether anything that was found answers the question, and if not, which words that exist were meant.

    Args:
        names: Returns topics, tags and keys that the asker may see. Asked only where nothing answers.
    """
    if is_answered(found):
        return Judgement()
    return Judgement(bool(found.items), suggest_words(query, names=names(), texts=[item.text for item in found.items]))


def is_answered(found: Findings) -> bool:
    """Return whether any of what was found may answer the question."""
    return any(_may_answer(item) for item in found.items)


def _may_answer(item: Finding) -> bool:
    words = item.keyword or 0.0
    if item.vector is None:
        return words >= WORDS_ALONE
    return words >= ALL_WORDS or item.vector + WORDS_COUNT * words >= FLOOR

"""Abstention: decides whether any hit answers a question, or merely comes closest to it.

Something is always nearest in meaning, so a list that is not empty proves nothing. The best hit decides: by the share
of the question's words it contains, rare words counting more, and by its similarity. The thresholds were fitted on two
corpora, each asked its own questions and the other's (`benchmarks/retrieval`); docs/decisions/0024 has the results.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from knowledge.search.hybrid import Finding, Findings
from knowledge.search.names import suggest_words

FLOOR = 0.36
"""Cosine of question and passage. Below it a model says little more than that both are sentences."""
WORDS_COUNT = 0.3
"""Added to the cosine of a passage that has all words of the question; common words alone add hardly anything."""
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
    """Return whether the findings answer the question, and if not, up to three existing words that are spelled alike.

    Args:
        names: Returns topics, tags and keys that the user may see. Called only when nothing answers.
    """
    if is_answered(found):
        return Judgement()
    return Judgement(bool(found.items), suggest_words(query, names=names(), texts=[item.text for item in found.items]))


def is_answered(found: Findings) -> bool:
    """Return whether any finding may answer the question."""
    return any(may_answer(item) for item in found.items)


def may_answer(item: Finding) -> bool:
    """Return whether one finding clears the floor, so that it may answer the question."""
    words = item.keyword or 0.0
    if item.vector is None:
        return words >= WORDS_ALONE
    return words >= ALL_WORDS or item.vector + WORDS_COUNT * words >= FLOOR

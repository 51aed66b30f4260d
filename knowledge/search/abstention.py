"""Abstention: decides whether any hit answers a question, or merely comes closest to it.

Something is always nearest in meaning, so a list that is not empty proves nothing. It decides nothing else than what is
said above the lines: nothing that was found is hidden for it.

In a small memory an answer stands out: its cosine lies above those of the next ones. In a large one the neighbours of
an answer are as near as the answer, and the best cosine alone decides. Decision 112 has the figures.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import log
from operator import attrgetter
from statistics import median

from bigmind.text.languages import ENGLISH
from bigmind.text.words import IDENTIFIER
from knowledge.argument_types import Relevance
from knowledge.search.findings import Finding, Findings
from knowledge.search.language_identification import language_of
from knowledge.search.nearest_names import suggest_words

FLOOR = 0.3
"""Cosine of question and passage. Below it a model says little more than that both are sentences."""
WORDS_COUNT = 0.3
"""Added to the cosine of a passage that has all words of the question; common words alone add hardly anything."""
ALL_WORDS = 0.8
"""Share of the question's words, the rare ones counting more, that is enough whatever a model makes of it."""
WORDS_ALONE = 0.3
"""Share that a passage needs while its meaning is not known."""
GAP, GAP_SHARE = 0.08, 0.05
"""A statement is much weaker than the best one when it is below by the one and by this share of the best score.
Chosen on all shapes of `benchmarks/retrieval` at once: with longer texts in the list, every gap that was tried cost
recall."""
CLEAR = 0.35
"""A score from which a statement is shown however good the best one is. Without it, facts that changed lost recall."""
STEPS, SHORT_WORD = 2, 2
"""Findings of a second step, and how many other findings a name may be in; letters of a word that is no name."""

JUDGED = 5
"""Hits by which a list is judged: so many every search returns."""
SMALL = 100
"""Candidates up to which a memory is small."""
STANDS_OUT = 0.15
"""By so much the best cosine of an answer lies above the median of the next four, in a small memory."""
CERTAIN = 0.55
"""Cosine with `WORDS_COUNT` from which one need not stand out: several texts may say the same; and cosine from which a
hit is strong, whatever words it lacks."""
KNOWN = 0.28
"""The least best cosine of an answer in a memory that is not small."""
RELIABLE = 0.35
"""Cosine from which a hit is strong that lacks no word of the question."""
_OTHERS = 0.12
"""What two texts that have nothing to do with each other are counted as, in a memory of fewer than five. Of .08, .10,
.12, .15 and .18 this one takes least for answered without losing answers beside three others."""
NEAR, NEAR_GROWS = 0.2, 0.02
"""The least best cosine of something that is worth a line that nobody asked for, and what is added for the logarithm of
how many candidates there were: of more, one is nearer by chance. Decision 105 has both error rates."""
_SCORE = attrgetter("score")
# Words that do not begin a sentence. Linear: a match has a bounded beginning.
_WORD_WITHIN = re.compile(r"(?<=[^\W_][ ,;:])[^\W_][\w'-]*|(?<=[^\W_], )[^\W_][\w'-]*")


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
    """Return whether what was found probably answers the question.

    What has no vector yet, or nearly all words of the question, answers whatever a model makes of it.
    """
    first = found.items[:JUDGED]
    # A missing cosine would count as 0, and everything as uncertain while vectors are being made.
    if _is_plain(first):
        return bool(answering(found.items))
    if found.total <= SMALL:
        is_certain = _stands_out_by(first) >= STANDS_OUT or max(map(_nearness, first), default=0.0) >= CERTAIN
        return is_certain and not _names_something_unknown(found)
    return _best_cosine(first) >= KNOWN


def is_near(found: Findings) -> bool:
    """Return whether something that was found is near enough to be worth a line that nobody asked for.

    What has nearly all words of the question, or no vector yet, is if it may answer.
    """
    first = found.items[:JUDGED]
    if _is_plain(first):
        return bool(answering(found.items))
    return _best_cosine(first) >= NEAR + NEAR_GROWS * log(max(1, found.total))


def _is_plain(first: Sequence[Finding]) -> bool:
    """Return whether words alone decide: one has nearly all of the question's, or no vector yet."""
    most = max([item.keyword or 0.0 for item in first], default=0.0)
    return most >= ALL_WORDS or None in [item.vector for item in first]


def _best_cosine(first: Sequence[Finding]) -> float:
    return max([item.vector or 0.0 for item in first], default=0.0)


def _stands_out_by(first: Sequence[Finding]) -> float:
    """Return by how much the best cosine lies above the median of the others; as if there were five hits at least."""
    best, *others = sorted([item.vector or 0.0 for item in first] + [_OTHERS] * (JUDGED - len(first)), reverse=True)
    return best - median(others)


def _names_something_unknown(found: Findings) -> bool:
    """Return whether an English question names a person, place or number that nothing stored has a word of.

    German writes every noun with a capital letter, so there it says nothing.
    """
    if not found.missing:
        return False
    words = [match[0] for match in _WORD_WITHIN.finditer(found.text)]
    named = [word.casefold() for word in words if len(word) > 1 and (word[0].isupper() or any(map(str.isdigit, word)))]
    unknown = any(name.startswith(stem) for name in named for stem in found.missing if len(stem) > 1)
    return unknown and language_of(found.text) == ENGLISH


def count_strong(found: Findings, statements: Collection[str]) -> int:
    """Return how many of the first findings are worth showing: those before one much weaker than the best.

    A second step of the question is among them.

    Only a list of nothing but statements ends early, when the meaning of each is known: a page that is always filled
    tells ten beliefs where one matters. docs/benchmarks.md has what that brings and costs.

    Args:
        statements: The kinds of one sentence each.
    """
    items = found.items
    if any(item.kind not in statements or item.vector is None for item in items):
        return len(items)
    least = _least_of_strong(best_score(items))
    strong = next((number for number, item in enumerate(items) if item.score < least), len(items))
    second = set(map(id, next_steps(found)))
    return max([strong, *(number for number, item in enumerate(items, start=1) if id(item) in second)])


def next_steps(found: Findings) -> list[Finding]:
    """Return up to `STEPS` findings about what the first one names and the question does not.

    Who leads the team that owns search takes two facts: the first one names the team, and the second says who leads it.
    Only where words of the question are in none of the first: else it has said everything.
    """
    if not found.items or found.weights.keys() <= set(found.items[0].matched):
        return []
    words = _names_in([item.text for item in found.items])
    asked = {word.casefold() for word in IDENTIFIER.findall(found.text)}
    named = words[0].keys() - asked
    by_word: dict[str, list[Finding]] = {}
    for item, its_words in zip(found.items[1:], words[1:], strict=True):
        for word in named & its_words.keys():
            by_word.setdefault(word, []).append(item)
    capitals = {word for its_words in words for word, is_name in its_words.items() if is_name}
    linked = [item for word, some in by_word.items() if word in capitals and len(some) <= STEPS for item in some]
    return sorted({id(item): item for item in linked}.values(), key=_SCORE, reverse=True)[:STEPS]


def _names_in(texts: Iterable[str]) -> list[dict[str, bool]]:
    """Return of each text the words that are long enough for a name, and whether each is written like one."""
    names: list[dict[str, bool]] = []
    for text in texts:
        names.append({})
        for word in IDENTIFIER.findall(text):
            if len(word) > SHORT_WORD:
                small = word.casefold()
                names[-1][small] = word != small
    return names


def best_score(items: Iterable[Finding]) -> float:
    """Return the best score of a list; 0 of an empty one."""
    return max([item.score for item in items], default=0.0)


def _least_of_strong(best: float) -> float:
    """Return the score below which a finding is much weaker than the best one of its list."""
    return min(CLEAR, best - GAP - GAP_SHARE * best)


def name_relevances(items: Sequence[Finding], *, is_known: bool, best: float) -> list[Relevance]:
    """Return how relevant each of several hits is, in a word: the one everywhere, in replies and on pages.

    Strong is what `is_strong` says and what scores like the best; any other answer is related.

    Args:
        is_known: Whether the list they stand in answers the question: a hit of another one is weak.
        best: The best score of that list. What is not as good is related only.
    """
    if not is_known:
        return ["weak"] * len(items)
    answers = set(map(id, answering(items)))
    return [
        "weak"
        if item.score < best and id(item) not in answers
        else "strong"
        if item.score >= best - GAP and is_strong(item)
        else "related"
        for item in items
    ]


def is_strong(item: Finding) -> bool:
    """Return whether an answer may be relied on: of first hits, about nine of ten are right (decision 112).

    It is very near in meaning; or it is near, and lacks no word of the question.
    """
    cosine = item.vector or 0.0
    return cosine >= CERTAIN or (cosine >= RELIABLE and not item.lacks)


def answering(items: Iterable[Finding]) -> list[Finding]:
    """Return the findings that clear the floor, so that they may answer the question."""
    return [
        item
        for item in items
        if (words := item.keyword or 0.0) >= ALL_WORDS
        or (words >= WORDS_ALONE if item.vector is None else item.vector + WORDS_COUNT * words >= FLOOR)
    ]


def may_answer(item: Finding) -> bool:
    """Return whether one finding does."""
    return bool(answering([item]))


def _nearness(item: Finding) -> float:
    return (item.vector or 0.0) + WORDS_COUNT * (item.keyword or 0.0)

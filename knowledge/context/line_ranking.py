"""Ranking: which stored lines help a session of this project and these topics most for their cost.

Instructions, preferences and identity are chosen by class, never by similarity: no task's topics match “always answer
in German”. Everything else competes by its words, its project, its age and its citations.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import chain, islice
from math import exp, log
from typing import NamedTuple

from django.utils import timezone

from bigmind.text.words import WORD

STEM_CHARS = 4
"""Forms of a word differ at its end, in most languages: “migration”, “migrate”, “Migrationen”."""
LEAST_CHARS = 3
FIRST_WITHOUT_SPACES = "\u3040"
"""From here on, scripts are written without spaces: a run of them is no word."""
WORD_CHARS = 40
WORDS_READ = 200
"""Words of one text that are compared: the beginning says what it is about."""
# The weights are tuned on half a of `benchmarks/context`; half b, which was never tuned to, checks them.
RECENT_WEIGHT = 0.3
"""What a topic of the project's recent sessions counts, against 1 for a topic that was named."""
PROJECT_VALUE = 1.0
AGE_VALUE = 0.2
AGE_DAYS = 60.0
CITED_VALUE = 0.3
ELSEWHERE = -1.0
"""Lines about another project come last, unless they have words of the topics."""
OUTDATED = -1.0
MOST_WORDS_VALUE = 2.0
LENGTH_EXPONENT = 0.5
"""How much length counts. With 1 the shortest lines would win whatever they say, with 0 the longest cost nothing."""

_DIRECTIVES = """
always never whenever must mustn cannot shall shouldn ensure require required requires forbidden
immer nie niemals stets muss müssen darf dürfen toujours jamais doit doivent siempre nunca debe deben sempre mai deve
devem alltid aldrig altijd nooit zawsze nigdy всегда никогда нельзя должен
"""
_IMPERATIVES = """
do don use answer reply write give show name state log call keep make put run say tell explain cite check add include
start end format return list speak respond address ensure avoid ask confirm only please every each when if
before after no not without antworte schreibe nenne zeige benutze verwende
"""
_TASTES = """
prefers likes dislikes loves enjoys hates favours favors finds thinks uses mag bevorzugt liebt hasst aime préfère
prefiere
"""
DIRECTIVES = frozenset(_DIRECTIVES.split())
"""Words of what always holds, wherever they stand in a text."""
DIRECTIVE_SIGNS = ("必ず", "常に", "絶対", "しないで", "总是", "始终", "永远", "不要", "必须", "항상", "절대", "반드시")
IMPERATIVES = frozenset(_IMPERATIVES.split())
"""Words that an instruction begins with."""
TASTES = frozenset(_TASTES.split())


def words_of(text: str) -> set[str]:
    """Return the words of a text without their endings; of scripts without spaces, each two characters."""
    if text.isascii():
        return set(map(_stem, WORD.findall(text.lower())[:WORDS_READ]))
    words = [found[0].casefold()[:WORD_CHARS] for found in islice(WORD.finditer(text), WORDS_READ)]
    pairs = {word[at : at + 2] for word in words if word[0] >= FIRST_WITHOUT_SPACES for at in range(len(word) - 1)}
    return pairs.union(map(_stem, words))


def tells_to(text: str) -> int:
    """Return how much a text reads like an instruction: 2 like one that always holds, 0 like a taste, 1 between."""
    is_ascii = text.isascii()
    words = WORD.findall(text.lower() if is_ascii else text)[:WORDS_READ]
    words = words if is_ascii else [*map(str.casefold, words)]
    if not DIRECTIVES.isdisjoint(words) or not (is_ascii or {*map(text.find, DIRECTIVE_SIGNS)} <= {-1}):
        return 2
    if not TASTES.isdisjoint(words[:3]):
        return 0
    return 2 if words and words[0] in IMPERATIVES else 1


class ContextFact(NamedTuple):
    """A candidate fact, with as much of its text as could ever fit; `created` is in seconds since 1970."""

    pk: int
    category: str
    project: str
    created: float
    similar_to_id: int | None
    contradicted_by_id: int | None
    valid_from: datetime | None
    valid_until: datetime | None
    replaced_from: datetime | None
    is_false: bool
    start: str


@dataclass
class LineRanking:
    """What helps a session of one project about some topics."""

    project: str
    weights: dict[str, float]
    now: datetime = field(default_factory=timezone.now)

    @classmethod
    def of(cls, project: str, topics: Sequence[str], recent: Iterable[str] = ()) -> "LineRanking":
        """Weigh the words of the topics that were named, and less those of the project's recent sessions."""
        weights = dict.fromkeys(_words_of_topics(recent), RECENT_WEIGHT) | dict.fromkeys(_words_of_topics(topics), 1.0)
        return cls(project, weights)

    def rank(self, facts: Sequence[ContextFact], cited: Collection[str]) -> list[ContextFact]:
        """Return facts, the most useful for what they cost first; of equals the newer.

        Args:
            cited: The ids of those that a session cited.
        """
        wanted, like = frozenset(self.weights), self._find_like
        words = [
            wanted.intersection(map(_stem, found)) if (found := like(one.start.casefold().replace("y", "i"))) else ()
            for one in facts
        ]
        worth = {word: self.weights[word] * rarity for word, rarity in _rarity(words, len(facts)).items()}
        outdated, places, now = {one.similar_to_id for one in facts}, [], self.now.timestamp()
        for at, (one, has) in enumerate(zip(facts, words, strict=True)):
            value = min(MOST_WORDS_VALUE, sum(map(worth.__getitem__, has))) if has else 0
            age = (now - one.created) / 86_400
            value += AGE_VALUE * exp(-max(0.0, age) / AGE_DAYS)
            value += CITED_VALUE * (str(one.pk) in cited) + OUTDATED * (one.pk in outdated)
            if self.project and one.project:
                value += PROJECT_VALUE if one.project == self.project else ELSEWHERE
            # What is worth less than nothing must not gain by its length.
            value = value / (20 + len(one.start) / 4) ** LENGTH_EXPONENT if value > 0 else value
            places.append((-value, -one.created, at))
        return [facts[at] for *_, at in sorted(places)]

    def is_named_in(self, text: str) -> bool:
        """Whether a text has a word of a topic that was named."""
        named = map(_stem, self._find_like(_fold(text.casefold())))
        return any(self.weights.get(word, 0) > RECENT_WEIGHT for word in named)

    @cached_property
    def _find_like(self) -> Callable[[str], Sequence[str]]:
        """Returns the words of a text that begin as wanted ones do; of scripts without spaces, what is wanted."""
        if not self.weights:
            return lambda text: ()
        pairs = [re.escape(word) for word in self.weights if word >= FIRST_WITHOUT_SPACES]
        beginnings = {re.escape(word[:LEAST_CHARS]) for word in self.weights}
        spaced = rf"(?<![^\W_])(?:{'|'.join(beginnings)})[^\W_]*"
        return re.compile("|".join([*pairs, spaced])).findall


def _words_of_topics(topics: Iterable[str]) -> set[str]:
    words = set[str]().union(*map(words_of, topics))
    return {word for word in words if len(word) >= LEAST_CHARS or (len(word) == 2 and word >= FIRST_WITHOUT_SPACES)}


def _rarity(words: Iterable[Collection[str]], texts: int) -> dict[str, float]:
    """Return what each word counts: 1 for one that hardly occurs, next to nothing for one that most texts have."""
    counts = Counter(chain.from_iterable(words))
    return {word: log(1 + texts / count) / log(1 + texts) for word, count in counts.items()}


@lru_cache(maxsize=10_000)
def _stem(word: str) -> str:
    word = word[:WORD_CHARS]
    for ending in ("ies", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= LEAST_CHARS:
            word = word.removesuffix(ending) + ("y" if ending == "ies" else "")
            break
    return _fold(word[:STEM_CHARS])


def _fold(text: str) -> str:
    """Write “y” as “i”, so that “retry” and “retries” begin alike."""
    return text.replace("y", "i")

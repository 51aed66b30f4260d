"""A stored question, and what it has in each of the two worlds: the weights of its words, and what else it found."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray
from pydantic_core import from_json

from knowledge.models import AskedForm, EmbeddingSpace
from knowledge.search.candidates import FORM_CHARS, word_weights
from knowledge.search.findings import Finding
from knowledge.search.fusion import PERIOD, WORDS
from knowledge.search.late_interaction import as_words, shares_of_words

from .passages import PassageIndex, Scores

SHIFT = 0.0005
"""Change of a word's share in its question from which the order of other passages may change: it is 0.0002 of a score,
and scores are compared at four digits. With 0.01, orders that did change were not foreseen. Decision 57."""
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
MOST = 10_000
"""Questions that are replayed, the newest; and as many starts."""

_Made = TypeVar("_Made")

_QUESTIONS = """
SELECT user_id, how, project, text, times, vector, tokens, outline FROM knowledge_askedquestion
WHERE how <> 'start' AND space_id = %s AND asked_at > %s ORDER BY asked_at DESC, id DESC LIMIT %s
"""


@dataclass(frozen=True)
class Asked:
    """A stored question."""

    user_id: UUID
    how: str
    project: str
    text: str
    times: int
    vector: bytes
    tokens: bytes | None
    outline: Mapping[str, Any]


def read_questions(space: EmbeddingSpace, since: Any) -> list[Asked]:
    """Return everyone's questions of this model since then, the newest first."""
    with connection.cursor() as cursor:
        cursor.execute(_QUESTIONS, [space.pk, since, MOST])
        return [
            Asked(user, how, project, text, times, bytes(vector), tokens and bytes(tokens), read_outline(outline))
            for user, how, project, text, times, vector, tokens, outline in cursor.fetchall()
        ]


def read_outline(value: Any) -> Any:
    """Return what a stored question keeps of its answer."""
    return from_json(value) if isinstance(value, str) else value


class ReplayedQuestion:
    """A question, with the weights of its words in both worlds."""

    def __init__(self, stored: Asked, index: PassageIndex) -> None:
        outline = stored.outline
        self.asked, self.limit, self.index = stored, outline["limit"], index
        self.terms = {word: others for word, *others in outline["terms"]}
        self.found = [index.find(word, others) for word, others in self.terms.items()]
        # A search of company knowledge alone weighs words by what company knowledge has; one of everything by the
        # counts of then, with what the decision adds or takes.
        self.is_of_company = stored.how in {AskedForm.RECALL, AskedForm.COMPANY}
        self.has_changed_words = any(found.counts[0] != found.counts[1] for found in self.found)
        self.weights = self._in_both(self._weigh)
        self.shares = self._in_both(lambda world: np.array(self.weights[world]) / (sum(self.weights[world]) or 1.0))
        self.only = stored.project if stored.how in {AskedForm.SEARCH, AskedForm.COMPANY} else ""
        self.matched: dict[int, list[str]] = {}

    def _in_both(self, make: Callable[[int], _Made]) -> tuple[_Made, _Made]:
        """Return the weights of the words in each world: the same, unless a changed passage has one of them."""
        before = make(0)
        return before, make(1) if self.has_changed_words else before

    def _weigh(self, world: int) -> list[float]:
        counts = [float(found.counts[world]) for found in self.found]
        if not self.is_of_company:
            gained = [found.counts[world] - found.counts[0] for found in self.found]
            counts = [max(0.0, then + more) for then, more in zip(self.asked.outline["counts"], gained, strict=True)]
        return word_weights(counts)

    @property
    def shifts(self) -> bool:
        """Whether the words of changed passages change the weights of others."""
        before, after = self.shares
        return self.has_changed_words and float(np.abs(before - after).max()) > SHIFT

    @cached_property
    def of_period(self) -> Scores | None:
        """What the period that the question names adds to each passage; None where it names none."""
        if (period := self.asked.outline.get("period")) is None:
            return None
        start, end = period
        written_at = self.index.written_at
        return np.where((start <= written_at) & (written_at < end), PERIOD, 0).astype(np.float32)

    def missing(self, world: int) -> frozenset[str]:
        """Return the words that no passage has, nor another form of them."""
        if not self.is_of_company:
            return frozenset(self.asked.outline["missing"])
        counts = {word: found.counts[world] for word, found in zip(self.terms, self.found, strict=True)}
        known = {word[:FORM_CHARS] for word, count in counts.items() if count}
        return frozenset(word for word, count in counts.items() if not (count or word[:FORM_CHARS] in known))

    @cached_property
    def words_change(self) -> bool:
        """Whether a word's weight differs in the world after, or only one world knows it."""
        if not self.has_changed_words:
            return False
        return self.weights[0] != self.weights[1] or self.missing(0) != self.missing(1)

    @cached_property
    def signs(self) -> NDArray[np.uint64]:
        """The tokens that are parts of words."""
        places = self.asked.outline["places"]
        matrix = np.frombuffer(self.asked.tokens or b"", dtype=np.uint8).reshape(len(places), -1)
        return as_words(matrix[[number for number, word in enumerate(places) if word]])

    @cached_property
    def token_shares(self) -> tuple[Scores, Scores]:
        """How much each of these tokens counts, in each world."""
        return self._in_both(self._weigh_tokens)

    def _weigh_tokens(self, world: int) -> Scores:
        weights = dict(zip(self.terms, self.weights[world], strict=True))
        of_forms = {other: weights[word] for word, others in self.terms.items() for other in others}
        return shares_of_words(self.asked.outline["places"], of_forms | weights)

    def others(self, world: int) -> list[tuple[int, int, Finding]]:
        """Return what else the question found, each with its group and what its line costs."""
        if self.is_of_company or not self.words_change:
            return self._others_before
        return list(self._find_others(world))

    def matches(self, row: int) -> list[str]:
        """Return the words that a passage has. Only what is joined from several searches is judged by them."""
        if self.asked.how != AskedForm.RECALL:
            return []
        if row not in self.matched:
            self.matched[row] = [
                word for word, found in zip(self.terms, self.found, strict=True) if row in found.members
            ]
        return self.matched[row]

    @cached_property
    def _others_before(self) -> list[tuple[int, int, Finding]]:
        return list(self._find_others(0))

    def _find_others(self, world: int) -> Iterator[tuple[int, int, Finding]]:
        """Yield what else the question found.

        In a search of everything it counts less if company knowledge says its words more often.
        """
        words = list(self.terms)
        for group, score, vector, keyword, bits, project, cost, kind in self.asked.outline["others"]:
            places = [place for place in range(len(words)) if bits >> place & 1]
            now = keyword
            if not self.is_of_company and world and keyword:
                now += float(sum(self.shares[1][place] - self.shares[0][place] for place in places))
            moved = score + WORDS * (now - keyword)
            matched = [words[place] for place in places]
            yield group, cost, make_finding(kind, "", moved, now, vector, matched, project)


def make_finding(
    kind: str,
    id: str,
    score: float,
    keyword: float | None,
    vector: float | None,
    matched: list[str],
    project: str,
    text: str = "",
) -> Finding:
    """Return a finding as the search rounds it. When it was written plays no part in a replay."""
    rounded = round(min(1.0, score), 4)
    return Finding(kind, id, text, rounded, (), matched, EPOCH, project, keyword=keyword, vector=vector)

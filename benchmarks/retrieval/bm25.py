"""BM25 over the lexemes PostgreSQL made: what keyword search gains from a ranking it does not have."""

from collections import Counter
from collections.abc import Iterable
from math import log

from django.db import connection

from accounts.models import User

K1, B = 1.2, 0.75

_LEXEMES = """
-- Pairs of characters have no places in the text.
SELECT passage.id, word.lexeme, coalesce(cardinality(word.positions), 1)
FROM knowledge_passage AS passage, unnest(passage.lexemes) AS word
WHERE passage.owner_id = %s OR passage.owner_id IS NULL
"""


class BM25:
    """The words of everything that someone may find."""

    def __init__(self, owner: User) -> None:
        self.passages: dict[int, Counter[str]] = {}
        with connection.cursor() as cursor:
            cursor.execute(_LEXEMES, [owner.pk])
            for passage, lexeme, times in cursor.fetchall():
                self.passages.setdefault(passage, Counter())[lexeme] = times
        self.lengths = {passage: words.total() for passage, words in self.passages.items()}
        self.usual_length = sum(self.lengths.values()) / max(1, len(self.lengths))
        self.holders = Counter(lexeme for words in self.passages.values() for lexeme in words)

    def scores(self, lexemes: Iterable[str]) -> dict[int, float]:
        """Score the passages that have any of these words."""
        asked = [(lexeme, self._rarity(lexeme)) for lexeme in lexemes if lexeme in self.holders]
        scores: dict[int, float] = {}
        for passage, words in self.passages.items():
            length = 1 - B + B * self.lengths[passage] / self.usual_length
            score = sum(
                rarity * words[lexeme] * (K1 + 1) / (words[lexeme] + K1 * length)
                for lexeme, rarity in asked
                if lexeme in words
            )
            if score:
                scores[passage] = score
        return scores

    def _rarity(self, lexeme: str) -> float:
        holders = self.holders[lexeme]
        return log(1 + (len(self.passages) - holders + 0.5) / (holders + 0.5))

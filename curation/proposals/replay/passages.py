"""The passages of company knowledge, as they are in the two worlds that are compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from bigmind.text.token_counts import count_tokens
from knowledge.capture.recall import LINE_TOKENS
from knowledge.models import EmbeddingSpace
from knowledge.search.language_identification import UNSPACED
from knowledge.search.late_interaction import PassageTokens
from knowledge.search.retrievers import CANDIDATES

_PASSAGES = """
SELECT passage.id, passage.source_id, passage.project, tsvector_to_array(passage.lexemes), passage.text,
    extract(epoch FROM passage.created_at)::float8, halfvec_send(vector.vector), cached.tokens
FROM knowledge_passage AS passage
LEFT JOIN knowledge_passagevector AS vector ON vector.passage_id = passage.id AND vector.space_id = %(space)s
LEFT JOIN knowledge_cachedvector AS cached ON cached.space_id = %(space)s AND cached.digest = passage.digest
WHERE passage.owner_id IS NULL AND passage.kind = 'company' AND NOT passage.past
    AND (%(ids)s::text[] IS NULL OR passage.source_id = ANY(%(ids)s))
"""

Scores = NDArray[np.float32]
_NO_ROWS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class CompanyPassage:
    """A passage of company knowledge as the search sees it, and in which of the two worlds it exists."""

    id: int
    entry_id: int
    project: str
    lexemes: Sequence[str]
    text: str
    written_at: float
    vector: bytes | None
    tokens: bytes | None
    before: bool = True
    after: bool = True


def read_company_passages(space: EmbeddingSpace, entry_ids: Iterable[int] | None = None) -> list[CompanyPassage]:
    """Return what the search may find of company knowledge now: all of it, or that of some entries."""
    ids = None if entry_ids is None else list(map(str, entry_ids))
    with connection.cursor() as cursor:
        cursor.execute(_PASSAGES, {"space": space.pk, "ids": ids})
        return [
            CompanyPassage(
                id, int(source), project, words or (), text, written, vector and bytes(vector), tokens and bytes(tokens)
            )
            for id, source, project, words, text, written, vector, tokens in cursor.fetchall()
        ]


@dataclass(frozen=True)
class WordRows:
    """The passages that have a word, and how many of them are in each world."""

    rows: NDArray[np.int64]
    counts: tuple[int, int]

    @cached_property
    def members(self) -> frozenset[int]:
        """The same passages, by id."""
        return frozenset(self.rows.tolist())


@dataclass(frozen=True)
class PassageIndex:
    """The passages of both worlds, as columns."""

    passages: Sequence[CompanyPassage]
    ids: NDArray[np.int64]
    written_at: NDArray[np.float64]
    vectors: Scores
    has_vector: NDArray[np.bool_]
    worlds: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    changed: NDArray[np.int64]
    by_word: dict[str, NDArray[np.int64]]
    tokens: PassageTokens
    known: dict[tuple[str, ...], WordRows] = field(default_factory=dict)
    of_project: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    found_by: dict[tuple[str, int], tuple[NDArray[np.int64], bool]] = field(default_factory=dict)
    prices: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, passages: Sequence[CompanyPassage], dimensions: int, bytes_each: int) -> "PassageIndex":
        """Return the index of these passages."""
        before = np.array([one.before for one in passages], dtype=bool)
        after = np.array([one.after for one in passages], dtype=bool)
        by_word: dict[str, list[int]] = {}
        for row, one in enumerate(passages):
            for word in one.lexemes:
                by_word.setdefault(word, []).append(row)
        empty = np.zeros(dimensions, dtype=np.float32)
        # What halfvec_send writes: two numbers of two bytes (dimensions, unused), then half floats, big-endian.
        read = [np.frombuffer(one.vector, dtype=">f2", offset=4) if one.vector else empty for one in passages]
        vectors = np.array(read, dtype=np.float32)
        return cls(
            passages,
            np.array([one.id for one in passages], dtype=np.int64),
            np.array([one.written_at for one in passages], dtype=np.float64),
            as_units(vectors),
            np.array([one.vector is not None for one in passages], dtype=bool),
            (before, after),
            np.flatnonzero(before != after),
            {word: np.array(rows, dtype=np.int64) for word, rows in by_word.items()},
            PassageTokens.of([(bytes_each and one.tokens) or b"" for one in passages], bytes_each=bytes_each or 1),
        )

    def find(self, word: str, others: Sequence[str]) -> WordRows:
        """Return the passages that have a word or one that counts as it."""
        key = (word, *others)
        if key not in self.known:
            if UNSPACED.fullmatch(word):
                rows = np.array([row for row, one in enumerate(self.passages) if word in one.text], dtype=np.int64)
            else:
                found = [self.by_word[one] for one in {word, *others} if one in self.by_word]
                rows = np.unique(np.concatenate(found)) if len(found) > 1 else found[0] if found else _NO_ROWS
            before, after = (int(world[rows].sum()) for world in self.worlds)
            self.known[key] = WordRows(rows, (before, after))
        return self.known[key]

    def within(self, project: str) -> NDArray[np.bool_]:
        """Return which passages belong to a project."""
        if project not in self.of_project:
            self.of_project[project] = np.array([one.project == project for one in self.passages], dtype=bool)
        return self.of_project[project]

    def there(self, project: str, world: int) -> NDArray[np.bool_]:
        """Return which passages are there in a world, of a project or of all."""
        return self.worlds[world] & self.within(project) if project else self.worlds[world]

    def rows_there(self, project: str, world: int) -> tuple[NDArray[np.int64], bool]:
        """Return the rows of these passages, and whether both retrievers bring all of them."""
        key = project, world
        if key not in self.found_by:
            rows = np.flatnonzero(self.there(project, world))
            self.found_by[key] = rows, len(rows) <= CANDIDATES and bool(self.has_vector[rows].all())
        return self.found_by[key]

    def price(self, text: str) -> int:
        """Return what the line of a passage costs before a prompt, about."""
        if text not in self.prices:
            self.prices[text] = min(LINE_TOKENS - 30, count_tokens(text)) + 30
        return self.prices[text]


def as_units(vectors: Scores) -> Scores:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)

"""A large memory for measurements: texts by Zipf's law and vectors near those of texts, loaded by COPY."""

import random
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from django.db import connection, transaction
from django.utils import timezone
from numpy.typing import NDArray

from accounts.models import User
from bigmind.text.common_words import COMMON_WORDS
from bigmind.text.hygiene import digest
from knowledge.embeddings.providers import provider
from knowledge.indexing.embedding import space_of
from knowledge.models import EmbeddingSpace, Kind

Rows = NDArray[np.float32]
FIRST_WORDS = """
the of to and a in is it you that for on with as be at this have from or by not but what all were when can an if
""".split()  # noqa: SIM905
SYLLABLES = """
ka ro ti ve no su mel dar pin lo ques tar bi on ex ul fra gen ost rim
""".split()  # noqa: SIM905
INVENTED_WORDS = 16_000
EMBEDDED = 400


class Library:
    """Texts and vectors from one seed: the same on every machine."""

    def __init__(self, seed: int = 7) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        known = self.random.sample(sorted(COMMON_WORDS), len(COMMON_WORDS))
        invented = ["".join(self.random.choices(SYLLABLES, k=4)) for _ in range(INVENTED_WORDS)]
        self.words = [*FIRST_WORDS, *known, *invented]
        self.shares = list(accumulate(1 / (rank + 2.7) for rank in range(len(self.words))))
        self.centres = _embedded([self.text() for _ in range(EMBEDDED)])

    def text(self) -> str:
        """Two to four sentences."""
        return " ".join(self._sentence() for _ in range(self.random.randint(2, 4)))

    def question(self) -> str:
        """Ten words as they come: most are common ones, as in questions people ask."""
        return " ".join(self._words(10))

    def vectors(self, count: int) -> Rows:
        """Return unit vectors: each a mixture of three that the built-in model made of texts, with some noise."""
        mixed = np.zeros((count, self.centres.shape[1]), dtype=np.float32)
        for weight in (1.0, 0.6, 0.4):
            mixed += weight * self.centres[self.numbers.integers(len(self.centres), size=count)]
        mixed += 0.02 * self.numbers.standard_normal(mixed.shape, dtype=np.float32)
        return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)

    def _sentence(self) -> str:
        return " ".join(self._words(self.random.randint(8, 18))).capitalize() + "."

    def _words(self, count: int) -> list[str]:
        return self.random.choices(self.words, cum_weights=self.shares, k=count)


def fill(library: Library, count: int, *, owners: Sequence[User] = ()) -> EmbeddingSpace:
    """Load so many passages with their vectors: facts of these owners in turns, or without owners shared entries."""
    space = space_of(provider())
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout TO 0")
        cursor.execute(
            "SELECT greatest(max(passage.id), max(fact.id), 0) + 1 FROM knowledge_passage AS passage"
            " FULL JOIN knowledge_fact AS fact ON fact.id = passage.id"
        )
        first = cursor.fetchone()[0]
        texts = {number: f"{library.text()} ({number})" for number in range(first, first + count)}
        ids = {number: str(number) if owners else str(UUID(int=number)) for number in texts}
        owner_of = {number: owners[number % len(owners)].pk if owners else None for number in texts}
        if owners:
            with _unforced("fact"):
                _copy("fact", _FACT, (_fact(number, owner_of[number], text) for number, text in texts.items()))
        else:
            _copy("entry", _ENTRY, (_entry(ids[number], text, number) for number, text in texts.items()))
        kind, now = Kind.FACT if owners else Kind.ENTRY, timezone.now()
        passages = ((n, kind, ids[n], owner_of[n], "", 0, text, digest(text), now) for n, text in texts.items())
        _copy("passage", f"id {_PASSAGE}", passages)
        vectors = zip(texts, library.vectors(count), strict=True)
        _copy(
            "passagevector",
            "passage_id space_id owner_id vector trouble",
            ((number, space.pk, owner_of[number], as_halfvec(vector), "") for number, vector in vectors),
            binary=("int8", "int8", "uuid", "bytea", "text"),
        )
        # The signs of tokens are nobody's: only how many there are, and that they are compared, costs time.
        told = (
            (space.pk, digest(text), "[" + ",".join("0" * 384) + "]", _signs(library, text)) for text in texts.values()
        )
        _copy("cachedvector", "space_id digest vector tokens", told)
        for table in ("passage", "fact"):
            cursor.execute(f"SELECT setval('knowledge_{table}_id_seq', %s)", [first + count])
        cursor.execute("ANALYZE")
        cursor.execute("RESET statement_timeout")
    return space


def copy_rows(texts: Sequence[str], space: EmbeddingSpace) -> None:
    """Load shared entries as fast as PostgreSQL takes them: COPY, of rows that are ready."""
    ids, now = [str(uuid4()) for _ in texts], timezone.now()
    entries = [_entry(id, text, number) for number, (id, text) in enumerate(zip(ids, texts, strict=True))]
    passages = [(Kind.ENTRY, entry[0], None, "", 0, entry[1], entry[2], now) for entry in entries]
    with transaction.atomic(), connection.cursor() as cursor:
        _copy("entry", _ENTRY, entries)
        _copy("passage", _PASSAGE, passages)
        cursor.execute("SELECT id FROM knowledge_passage WHERE source_id = ANY(%s)", [ids])
        _copy(
            "passagevector", "passage_id space_id trouble", [(number, space.pk, "") for (number,) in cursor.fetchall()]
        )


_ENTRY = (
    "id content digest entry_type roles tags confidence project source_file source_story metadata created_at updated_at"
)
_FACT = "id user_id fact digest category confidence project deprecation_reason created_at updated_at"
_PASSAGE = "kind source_id owner_id project ordinal text digest created_at"


def _entry(id: str, text: str, number: int) -> tuple[Any, ...]:
    """One in a hundred has the same tag; one in seven is not believed enough to be found by default."""
    now = timezone.now()
    return (
        id,
        text,
        digest(text),
        "fact",
        [],
        [f"tag-{number % 100}"],
        0.4 + number % 7 / 10,
        "",
        "",
        "",
        "{}",
        now,
        now,
    )


def _fact(number: int, owner: object, text: str) -> tuple[Any, ...]:
    now = timezone.now()
    return (number, owner, text, digest(text), "decision", 1.0, "", "", now, now)


def _signs(library: Library, text: str) -> bytes:
    """Return what the signs of its tokens would be as long as: English has four letters a token."""
    return library.random.randbytes(48 * (len(text) // 4))


def as_halfvec(vector: Rows) -> bytes:
    """Return a vector as PostgreSQL's binary COPY takes a halfvec."""
    return struct.pack(">HH", len(vector), 0) + vector.astype(">f2").tobytes()


@contextmanager
def _unforced(table: str) -> Iterator[None]:
    """Let the owner of a table pass its policies: PostgreSQL refuses COPY into a table where they hold."""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE knowledge_{table} NO FORCE ROW LEVEL SECURITY")
        yield
        cursor.execute(f"ALTER TABLE knowledge_{table} FORCE ROW LEVEL SECURITY")


def _copy(table: str, columns: str, rows: Iterable[tuple[Any, ...]], *, binary: Sequence[str] = ()) -> None:
    form = " (FORMAT BINARY)" if binary else ""
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY knowledge_{table} ({', '.join(columns.split())}) FROM STDIN{form}") as copy,
    ):
        if binary:
            copy.set_types(binary)
        for row in rows:
            copy.write_row(row)


def _embedded(texts: list[str]) -> Rows:
    embedder = provider()
    return np.concatenate([embedder.embed(texts[at : at + 50]) for at in range(0, len(texts), 50)])

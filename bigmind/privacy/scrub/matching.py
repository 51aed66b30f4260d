"""Finding one text wherever it stands: whatever its case, spaces and punctuation, and in the encodings of the web.

A text is compared by its letters and digits alone, without case and accents. So a wrapped line, an escaped quote or a
name made of it are found as well. What changes letters has a needle of its own: JSON, percent and HTML escapes, base64.

A note that outlives the text knows it by hashes only: 24 bits of a rolling hash (Rabin and Karp, 1987) under a key of
this instance say where it may stand, and scrypt, which is slow on purpose, says whether it does.
"""

import hmac
import html
import json
import re
import unicodedata
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import scrypt, sha256
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np

from bigmind.core.errors import Invalid

LEAST, MOST = 6, 20_000
"""Letters and digits of a text that can be scrubbed, and characters: less would hit half of everything."""
BEGINNING = 12
"""Letters of the beginning by which a text that was cut short is known, such as in a notice."""
LEAST_ENCODED = 10
"""Base64 is compared without case as well: a shorter form would be found by chance."""
SEPARATOR = "\x1f"
"""Stands between values that are searched together, and no text reaches across it."""
SIGN_BITS = 24
_CUT = re.compile(r"…|\.\.\.")


class _FoldedCharacters(dict[int, str]):
    """What each character counts as: a small letter or digit without its accent, or nothing."""

    def __missing__(self, code: int) -> str:
        # One for one, so that the places of letters are places in the text.
        first = unicodedata.normalize("NFKD", chr(code))[0].lower()[0]
        self[code] = kept = first if first.isalnum() or first == SEPARATOR else "\0"
        return kept


_LETTERS = _FoldedCharacters()


def letters_of(text: str) -> str:
    """Return the letters and digits of a text, by which texts are compared."""
    return text.translate(_LETTERS).replace("\0", "")


def _places_of(text: str) -> list[int]:
    """Return where in a text each of its letters stands."""
    return [place for place, kept in enumerate(text.translate(_LETTERS)) if kept != "\0"]


class Needle(Protocol):
    """One form of the text, or its beginning: then `whole` has all of it."""

    @property
    def size(self) -> int:
        """How many letters it has."""
        ...

    @property
    def whole(self) -> str:
        """The whole, where the needle is only the beginning; empty otherwise."""
        ...

    @property
    def around(self) -> tuple[int, int]:
        """How many signs belong to it before its first and behind its last letter."""
        ...

    def starts(self, letters: str) -> Iterator[int]:
        """Yield where it begins among these letters."""
        ...


@dataclass(frozen=True)
class PlainNeedle:
    """A form of a text that is known."""

    letters: str
    whole: str = ""
    around: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        return len(self.letters)

    def starts(self, letters: str) -> Iterator[int]:
        """Yield where it begins among these letters."""
        start = letters.find(self.letters)
        while start >= 0:
            yield start
            start = letters.find(self.letters, start + 1)


@dataclass(frozen=True)
class HashedNeedle:
    """A form of which only the hashes are known."""

    size: int
    sign: int
    proof: str
    key: bytes
    whole: str = ""
    around: tuple[int, int] = (0, 0)

    def starts(self, letters: str) -> Iterator[int]:
        """Yield where it begins among these letters."""
        for start in np.flatnonzero(_signs(letters, self.size, self.key) == self.sign):
            if hmac.compare_digest(_proof(letters[start : start + self.size], self.key), self.proof):
                yield int(start)


def needles_of(text: str) -> list[PlainNeedle]:
    """Return the forms in which a text may stand.

    Raises:
        Invalid: it is too short to be distinguished from other texts, or too long.
    """
    plain = letters_of(text)
    if len(plain) < LEAST:
        raise Invalid.of("text", f"must have at least {LEAST} letters or digits, or too much else would be removed")
    if len(text) > MOST:
        hint = "Give the part of it that must not stay."
        raise Invalid.of("text", f"must have at most {MOST:,} characters", hint=hint)
    forms = dict.fromkeys([plain, *map(letters_of, _escape(text))])
    forms |= dict.fromkeys(form for form in map(letters_of, _in_base64(text.encode())) if len(form) >= LEAST_ENCODED)
    places = _places_of(text)
    around = (places[0], len(text) - places[-1] - 1)
    return [PlainNeedle(plain, around=around), *map(PlainNeedle, [*forms][1:]), *beginnings_of(plain)]


def beginnings_of(plain: str) -> list[PlainNeedle]:
    """Return the needle of a text that was cut short; none for a text that is hardly longer than that.

    Args:
        plain: The letters of the text.
    """
    return [PlainNeedle(plain[:BEGINNING], whole=plain)] if len(plain) > BEGINNING else []


def describe_needles(needles: Iterable[PlainNeedle], key: bytes) -> list[dict[str, Any]]:
    """Return what a note keeps of needles: lengths and hashes under a key.

    Of whole forms alone: by hashes of its beginnings a text could be guessed letter by letter.
    """
    return [
        {
            "size": one.size,
            "sign": int(_signs(one.letters, one.size, key)[0]),
            "proof": _proof(one.letters, key),
            "around": list(one.around),
        }
        for one in needles
        if not one.whole
    ]


def read_needles(described: Iterable[dict[str, Any]], key: bytes) -> list[HashedNeedle]:
    return [HashedNeedle(**{**one, "around": tuple(one["around"])}, key=key) for one in described]


def may_stand_in(letters: str, needles: Iterable[Needle]) -> bool:
    """Return whether any of these needles begins anywhere among these letters."""
    return any(True for needle in needles for _ in needle.starts(letters))


def spans_in(text: str, needles: Iterable[Needle]) -> list[tuple[int, int]]:
    """Return from where to where the text stands in another one, in their order; what touches is one."""
    letters, places, found = letters_of(text), list[int](), list[tuple[int, int]]()
    for needle in needles:
        for start in needle.starts(letters):
            places = places or _places_of(text)
            end = _end_of(text, letters, places, start, needle)
            if end:
                found.append(_with_signs(text, places[start], end, needle.around))
    return list(_merge(sorted(found)))


def replace_in(text: str, needles: Sequence[Needle], mark: str) -> tuple[str, int]:
    """Return a text with a mark in each place where it stood, and how many places these were."""
    spans = spans_in(text, needles)
    for start, end in reversed(spans):
        text = text[:start] + mark + text[end:]
    return text, len(spans)


def _end_of(text: str, letters: str, places: Sequence[int], start: int, needle: Needle) -> int:
    """Return where it ends; 0 for a beginning that goes on in another way, or is not cut short."""
    if not needle.whole:
        return places[start + needle.size - 1] + 1
    cut = _CUT.search(text, places[start])
    end = cut.start() if cut else len(text)
    shown = letters[start : bisect_left(places, end)]
    return end if len(shown) < len(needle.whole) and needle.whole.startswith(shown) else 0


def _with_signs(text: str, start: int, end: int, around: tuple[int, int]) -> tuple[int, int]:
    """Return a span with as many signs before and behind it as the text has, such as the last ones of a password."""
    first, last = max(0, start - around[0]), min(len(text), end + around[1])
    while start > first and _is_sign(text[start - 1]):
        start -= 1
    while end < last and _is_sign(text[end]):
        end += 1
    return start, end


def _is_sign(character: str) -> bool:
    return not (character.isspace() or letters_of(character))


def _merge(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last: tuple[int, int] | None = None
    for start, end in spans:
        if last and start <= last[1]:
            last = (last[0], max(last[1], end))
            continue
        if last:
            yield last
        last = (start, end)
    if last:
        yield last


def _escape(text: str) -> Iterator[str]:
    for is_ascii in (True, False):
        once = json.dumps(text, ensure_ascii=is_ascii)[1:-1]
        yield from (once, json.dumps(once, ensure_ascii=is_ascii)[1:-1])
    yield from (quote(text, safe=""), html.escape(text))


def _in_base64(raw: bytes) -> Iterator[str]:
    """Yield what of the text does not depend on its neighbours, for each place in a group of three bytes."""
    for before in range(3):
        encoded = b64encode(bytes(before) + raw).decode()
        groups, rest = divmod(before + len(raw), 3)
        yield encoded[(0, 2, 3)[before] : groups * 4 + rest]


def _signs(letters: str, size: int, key: bytes) -> "np.ndarray[Any, np.dtype[np.uint64]]":
    """Return the rolling hash of every window of so many letters, modulo 2^64, and of that the highest bits."""
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    if len(codes) < size:
        return np.zeros(0, dtype=np.uint64)
    # Running sums of letter times power; the difference of two, moved back to the first power, is the hash of a window.
    powers, inverses = _powers(key, 1 << max(10, len(codes).bit_length()))
    with np.errstate(over="ignore"):
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(codes * powers[: len(codes)], dtype=np.uint64)])
        windows = (sums[size:] - sums[:-size]) * inverses[: len(codes) - size + 1]
    # Only the highest bits of a product depend on all bits of the letters, the lowest on the lowest alone.
    signs: np.ndarray[Any, np.dtype[np.uint64]] = windows >> np.uint64(64 - SIGN_BITS)
    return signs


@lru_cache(maxsize=4)
def _powers(key: bytes, most: int) -> tuple[Any, Any]:
    # Odd: only such numbers have an inverse modulo 2^64.
    base = int.from_bytes(hmac.new(key, b"base", sha256).digest()[:8], "big") | 1
    both = []
    for factor in (base, pow(base, -1, 1 << 64)):
        row = np.full(most, factor, dtype=np.uint64)
        row[0] = 1
        with np.errstate(over="ignore"):
            both.append(np.cumprod(row, dtype=np.uint64))
    return both[0], both[1]


@lru_cache(maxsize=1024)
def _proof(letters: str, key: bytes) -> str:
    return scrypt(letters.encode("utf-8", "surrogatepass"), salt=key, n=2**13, r=8, p=1, dklen=16).hex()

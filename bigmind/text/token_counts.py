"""Estimates how many tokens a text costs an agent: without a model's files, and rather too high than too low.

A text is split into pieces much as tokenizers split it, each piece has a cost in hundredths of a token, and the
estimate is their sum, rounded up. The costs were fitted to three tokenizers; docs/decisions/0003 has the figures.

- A common English word costs 1, its forms and its capitals a little more. Any other word in Latin letters costs 1.1,
  plus 0.2 for each letter and 0.4 for each sequence of three letters that no common English word has: that is where
  tokenizers split words.
- Digits cost 0.5 each, punctuation 0.8 for each change of character, white space 1 for a run and 2 for blank lines; a
  piece costs at least 1.
- Every other character costs what its script costs (`CHARACTER_COSTS`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from bigmind.text.common_words import COMMON_WORDS, is_common

ELLIPSIS = "…"

LOWER = "a-zß-öø-\u024f\u1e00-\u1eff"
UPPER = "A-ZÀ-ÖØ-Þ"
PIECE = re.compile(
    rf" ?[{UPPER}{LOWER}]+"
    r"| ?[0-9]+"
    r"| ?\||_+| ?[!-/:-@\[-^`{}~]+"  # bars and underscores stay alone: tables and snake_case join nothing
    r"| +(?= )|\n+|\t+"  # the last of several spaces belongs to the word after them
    r"| ?[^\x00-\u024f\u1e00-\u1eff]+"
    r"|.",
    re.DOTALL,
)
WORD_PARTS = re.compile(rf"[{UPPER}]+(?![{LOWER}])|[{UPPER}]?[{LOWER}]+")
WORD_END = re.compile(
    r"(?<=\S)(?=\s)"
    r"|(?<=[\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1fぁ-ゖ\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
    # Not before something that belongs to the character: small kana, marks, joiners, variation selectors.
    r"(?![ぁぃぅぇぉっゃゅょゎゕゖー\u3099-\u309e\u0300-\u036f\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef])"
)
FAMILIAR = frozenset(f"^{word}"[at : at + 3] for word in COMMON_WORDS for at in range(len(word) - 1))

CHARACTER_COSTS = (
    (0x0000, 100),  # ASCII
    (0x0080, 150),  # signs of Latin-1
    (0x00C0, 60),  # accented Latin letters, on top of being a letter
    (0x0100, 100),
    (0x0250, 220),  # phonetic alphabet
    (0x0300, 200),  # combining accents
    (0x0370, 150),  # Greek
    (0x0400, 100),  # Cyrillic
    (0x0460, 200),
    (0x0530, 220),  # Armenian
    (0x0590, 140),  # Hebrew, Arabic
    (0x0671, 200),  # Persian, Urdu, Kurdish letters
    (0x06FD, 140),
    (0x0900, 150),  # Devanagari
    (0x0980, 260),  # the other scripts of India
    (0x0E00, 200),  # Thai
    (0x0E80, 300),  # Lao to Mongolian
    (0x1E00, 150),  # Vietnamese letters, on top of being a letter
    (0x1F00, 300),
    (0x2000, 100),  # spaces, dashes, quotation marks
    (0x200B, 200),  # zero-width and bidirectional
    (0x2010, 100),
    (0x2028, 200),
    (0x2030, 150),
    (0x2060, 200),
    (0x2190, 100),  # plain arrows
    (0x2194, 200),
    (0x2200, 250),  # mathematics
    (0x2264, 100),  # less or equal, greater or equal
    (0x2266, 250),
    (0x2300, 300),
    (0x2500, 130),  # plain lines
    (0x2504, 200),  # boxes
    (0x25A0, 300),
    (0x3000, 100),  # Chinese and Japanese punctuation
    (0x3040, 120),  # kana
    (0x3100, 300),
    (0x4E00, 190),  # Chinese characters
    (0xA000, 300),
    (0xAC00, 180),  # Hangul
    (0xD7A4, 300),
    (0xFE00, 100),  # variation selectors
    (0xFE10, 300),
    (0xFF00, 200),  # full-width forms
    (0xFFF0, 300),
    (0x10000, 400),
    (0x1F000, 300),  # emoji
    (0x1FA00, 400),
)
FIRST_OF_SCRIPT = [first for first, _ in CHARACTER_COSTS]
RULED = "#%*+-./=_`~"
DRAWN = frozenset(map(chr, [*range(0x2010, 0x2028), *range(0x2500, 0x2580)]))
"""Characters that rules and boxes are drawn with. Tokenizers merge a row of the same one, so it costs little."""


class PieceCosts(dict[str, int]):
    """A cache of the cost of each piece: the words of memories recur, and every reply is counted."""

    LIMIT = 50_000
    LONGEST = 40

    def __missing__(self, piece: str) -> int:
        cost = _cost(piece)
        # Long pieces hardly ever recur, and would let hostile texts fill the memory.
        if len(piece) <= self.LONGEST:
            if len(self) >= self.LIMIT:
                self.clear()
            self[piece] = cost
        return cost


COSTS = PieceCosts()


def count_tokens(text: str) -> int:
    """Return how many tokens a text costs: no fewer than a tokenizer counts, and about a quarter more in English prose.

    Joining two texts, outside a word, adds at most one token to the sum of their costs. So texts that fit a budget one
    by one also fit it together, give or take one token for each.
    """
    # Integer division of the negated sum rounds up, without the errors of floating point.
    return -(-sum(map(COSTS.__getitem__, PIECE.findall(text))) // 100)


def count_each(texts: Iterable[str]) -> list[int]:
    """Return how many tokens each of several texts costs."""
    return [-(-sum(map(COSTS.__getitem__, PIECE.findall(text))) // 100) for text in texts]


def cut_to_tokens(text: str, budget: int) -> str:
    """Return the text, or as many of its first words as fit, with an ellipsis, into `budget` tokens.

    The cut is before white space, or after a Chinese character or a hiragana, which count as words. A word that does
    not fit is left out whole, so the result may be the ellipsis alone; with a budget of 0 it is empty.
    """
    if count_tokens(text) <= budget:
        return text
    ends = [0, *(end.start() for end in WORD_END.finditer(text))]
    # A longer beginning never costs less, so a binary search finds the longest that fits.
    fitting = bisect_right(ends, budget - 1, key=lambda end: count_tokens(text[:end]))
    return text[: ends[fitting - 1]] + ELLIPSIS if fitting else ""


def cut_each(texts: Iterable[str], budget: int) -> list[str]:
    """Return each of several texts so."""
    # No sign of ASCII costs more than a token.
    return [text if len(text) <= budget and text.isascii() else cut_to_tokens(text, budget) for text in texts]


def _cost(piece: str) -> int:
    """Return the cost of one piece, in hundredths of a token."""
    shown = piece.lstrip(" ")
    if not shown:
        return 99 + len(piece)
    if shown[0] in "\n\t":
        return 100 if len(shown) == 1 else 190 + 5 * len(shown)
    if shown[0] in "0123456789":
        return max(100, 50 * len(shown)) + 100 * (shown != piece)
    if parts := WORD_PARTS.findall(shown):
        return sum([_word_cost(part, in_sentence=shown != piece and not at) for at, part in enumerate(parts)])
    if shown.isascii():
        changes = sum(before != one for before, one in pairwise(shown))
        repeated = sum(3 if one in RULED else 25 for before, one in pairwise(shown) if before == one)
        return max(100, 30 + 80 * changes) + repeated
    marks = (20 if one == before and one in DRAWN else _character_cost(one) for before, one in pairwise(" " + shown))
    return max(100, sum(marks)) + 30 * (shown != piece)


def _word_cost(word: str, *, in_sentence: bool) -> int:
    """Return the cost of a word, or of one of the words in a camelCase name.

    A long word is cheapest as it occurs in a sentence, after a space and in lower case: tokenizers have learned it
    in that form.
    """
    small = word.lower()
    accents = 0 if word.isascii() else sum([_character_cost(letter) for letter in word if not letter.isascii()])
    if len(word) == 1:
        return 100 + accents
    if word.isupper():
        return max(100, 60 + 20 * len(word)) if is_common(small) else 70 * len(word) + accents
    if is_common(small):
        in_place = in_sentence and word == small
        if small in COMMON_WORDS:
            return 100 if in_place or len(word) < 8 else 140
        return 120 if in_place else 170
    return 110 + 20 * len(word) + 40 * _strange_triples(small) + accents


def _strange_triples(word: str) -> int:
    """Count the sequences of three letters, with `^` for the beginning of the word, that no common word has."""
    marked = f"^{word}"
    return sum([marked[at : at + 3] not in FAMILIAR for at in range(len(marked) - 2)])


@lru_cache(maxsize=4096)
def _character_cost(character: str) -> int:
    return CHARACTER_COSTS[bisect_right(FIRST_OF_SCRIPT, ord(character)) - 1][1]

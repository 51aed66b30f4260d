"""Excerpts: cuts out the part of a long passage that contains the words it was found by."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from bigmind.text.words import IDENTIFIER

EXCERPT_CHARS = 480
LEAD_CHARS = 80
_ENDING = r"[^\W_]{0,4}"


def words_like(stems: Collection[str]) -> re.Pattern[str] | None:
    """Return a pattern for words with these stems and a common English ending, or None when there are no stems."""
    spelled = sorted({form for stem in stems for form in _spellings(stem)}, key=len, reverse=True)
    if not spelled:
        return None
    return re.compile(rf"(?<![^\W_])((?:{'|'.join(map(re.escape, spelled))}){_ENDING})(?![^\W_])", re.IGNORECASE)


def excerpt_of(text: str, stems: Collection[str], *, chars: int = EXCERPT_CHARS) -> str:
    """Return about `chars` characters of a text, from where most of the words are; a short text is returned whole.

    An ellipsis marks what is left out; no word is cut.
    """
    if len(text) <= chars:
        return text
    start = _start(text, stems, chars)
    end = len(text) if start + chars >= len(text) else _word_end(text, start + chars)
    before, after = "… " if start else "", " …" if end < len(text) else ""
    return f"{before}{text[start:end].strip()}{after}"


def below_title(text: str, title: str) -> str:
    """Return a text without its first line if that line only repeats the title, or the end of a numbered title."""
    first, _, rest = text.partition("\n")
    if not rest.strip():
        return text
    words = IDENTIFIER.findall(first.lower())
    return rest.lstrip() if words and IDENTIFIER.findall(title.lower())[-len(words) :] == words else text


def _start(text: str, stems: Collection[str], chars: int) -> int:
    """Return the position a little before the first word of the window with the most different words."""
    pattern = words_like(stems)
    places = [(found.start(), found[0].lower()) for found in pattern.finditer(text)] if pattern else []
    if not places:
        return 0
    lead = min(LEAD_CHARS, chars // 4)
    start = min(_fullest(places, chars - lead) - lead, len(text) - chars)
    return _word_start(text, start) if start > 0 else 0


def _fullest(places: Sequence[tuple[int, str]], reach: int) -> int:
    """Return the start of the first window with the most different words.

    A sliding window: each position enters and leaves once, so a passage full of matches costs linear time.
    """
    within, best, most, end = Counter[str](), places[0][0], 0, 0
    for first, leaving in places:
        while end < len(places) and places[end][0] < first + reach:
            within[places[end][1]] += 1
            end += 1
        if len(within) > most:
            best, most = first, len(within)
        within[leaving] -= 1
        if not within[leaving]:
            del within[leaving]
    return best


def _word_start(text: str, at: int) -> int:
    found = re.compile(r"\s").search(text, at, at + LEAD_CHARS)
    return found.end() if found else at


def _word_end(text: str, at: int) -> int:
    space = max(text.rfind(" ", at - LEAD_CHARS, at), text.rfind("\n", at - LEAD_CHARS, at))
    return space if space > 0 else at


def _spellings(stem: str) -> tuple[str, ...]:
    """Return the stem, and its form with a y, which English stemming turns into an i."""
    return (stem, f"{stem[:-1]}y") if stem.endswith("i") else (stem,)

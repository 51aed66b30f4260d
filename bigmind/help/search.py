"""Searching the documentation: sections and rows of tables by their words, weighted by how rare each word is (IDF)."""

import math
import re
from collections import Counter
from dataclasses import dataclass

from bigmind.core.load_once import load_once
from bigmind.help.contents import pages
from bigmind.help.rendering import HelpSection, address_of, render_page, title_of

QUERY_CHARS = 500
MOST_WORDS = 24
EXCERPT_CHARS = 180
NOTHING = "-"
"""What stands in the cell of a table that says nothing."""

_WORD = re.compile(r"[^\W_]+(?:_[^\W_]+)*")
_IN_TITLE, _IN_HEADING = 3.0, 4.0
LEAST_SHARE = 0.5
"""The share of the query, by weight, that a section must have. A pasted error may name a path or number of its own."""


@dataclass(frozen=True)
class HelpHit:
    """A section that was found, with the words around the first match."""

    page: str
    title: str
    address: str
    excerpt: str


CHANGES = "CHANGELOG"


@dataclass(frozen=True)
class _Indexed:
    slug: str
    section: HelpSection
    title: frozenset[str]
    heading: frozenset[str]
    words: frozenset[str]


def search_help(query: str, limit: int = 20) -> list[HelpHit]:
    """Return the sections that answer a query best, at most `limit`; an error message may be pasted whole.

    The last word may be the beginning of one. Of a query longer than 500 characters the beginning is read.
    """
    asked = list(dict.fromkeys(_words(query[:QUERY_CHARS])))[:MOST_WORDS]
    if not asked:
        return []
    weights = {word: _weight(word) for word in asked}
    whole = sum(weights.values())
    scored = []
    for number, one in enumerate(_index()):
        found = [word for word in asked if _has(one.words | one.heading | one.title, word, word == asked[-1])]
        share = sum(weights[word] for word in found) / whole
        if share < LEAST_SHARE:
            continue
        places = sum(
            weights[word] * (_IN_HEADING * (word in one.heading) + _IN_TITLE * (word in one.title)) for word in found
        )
        if one.slug == CHANGES:
            share /= 2  # What changed once says less than what holds, however much of it there is.
        # Of two that have the same words the shorter one is about them.
        score = share * whole + places - math.log(1 + len(one.words))
        scored.append((share, score, -number, one))
    best = sorted(scored, key=lambda each: each[:3], reverse=True)[:limit]
    return [_hit(one, asked) for *_, one in best]


def _hit(one: _Indexed, asked: list[str]) -> HelpHit:
    text = one.section.text if one.section.text != NOTHING else ""
    lowered = text.lower()
    places = [place for place in (lowered.find(word) for word in asked) if place >= 0]
    begin = max(0, min(places, default=0) - 40)
    excerpt = text[begin : begin + EXCERPT_CHARS]
    excerpt = f"{'… ' if begin else ''}{excerpt}{' …' if begin + EXCERPT_CHARS < len(text) else ''}"
    page = title_of(pages()[one.slug])
    return HelpHit(page, one.section.title or page, address_of(one.slug, one.section.anchor), excerpt)


@load_once
def _index() -> tuple[_Indexed, ...]:
    return tuple(
        _Indexed(
            slug,
            section,
            frozenset(_words(render_page(slug).title)),
            frozenset(_words(section.title)),
            frozenset(_words(section.text)),
        )
        for slug in pages()
        for section in (*render_page(slug).sections, *render_page(slug).rows)
    )


@load_once
def _counts() -> Counter[str]:
    return Counter(word for one in _index() for word in one.words | one.heading)


def _weight(word: str) -> float:
    """Return how much a word says: one that no section has says as much as one that a single section has."""
    return math.log(1 + len(_index()) / max(1, _counts()[word]))


def _has(words: frozenset[str], word: str, is_last: bool) -> bool:
    return word in words or (is_last and len(word) > 2 and any(one.startswith(word) for one in words))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())

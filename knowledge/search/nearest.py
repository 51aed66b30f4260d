"""Did you mean: the names that look most like one that is not there."""

import re
from collections.abc import Iterable

from rapidfuzz import fuzz, process

SUGGESTIONS = 3
SUGGEST_FROM = 2_000
"""Of names that are read from a table, so many are looked through."""
ALIKE = 60
SHORTEST = 3
"""Of letters: what is shorter looks like too much."""
MISSPELT = 80
"""Of 100: two letters that changed places in a word of eight."""

_WORD = re.compile(r"[^\W_]+")


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three of the names that look most like this one: what exists, never inventions, nor itself."""
    others = [one for one in dict.fromkeys(names) if one != name]
    return [one for one, *_ in process.extract(name, others, limit=SUGGESTIONS, score_cutoff=ALIKE)]


def nearest_or(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return a hint that names the nearest, or what to do where nothing is near."""
    near = nearest(name, names)
    return f"The nearest: {', '.join(near)}." if near else otherwise


def suggest_words(query: str, *, names: Iterable[str], texts: Iterable[str] = ()) -> list[str]:
    """Return up to three names, or whole words of texts, that may be what a misspelt word of a question meant.

    Args:
        names: Topics, tags and keys that the asker may see.
        texts: What was found: any of its words may be meant.
    """
    asked, known = _WORD.findall(query.casefold()), list(dict.fromkeys(names))
    choices = {word: name for name in known for word in (name.casefold(), *_WORD.findall(name.casefold()))}
    choices = {word: word for text in texts for word in _WORD.findall(text.casefold())} | choices
    near = [
        (score, choices[word])
        for one in dict.fromkeys([*asked, query.casefold().strip()])
        if len(one) >= SHORTEST and one not in choices
        for word, score, _ in process.extract(one, list(choices), scorer=fuzz.ratio, score_cutoff=MISSPELT)
        if len(word) >= SHORTEST
    ]
    return list(dict.fromkeys(name for _, name in sorted(near, key=lambda pair: -pair[0])))[:SUGGESTIONS]

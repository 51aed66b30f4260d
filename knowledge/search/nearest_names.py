"""The nearest names: the existing ones, and words of texts, that are most like a misspelt one."""

from collections.abc import Iterable

from rapidfuzz import fuzz, process

from bigmind.text.common_words import is_common
from bigmind.text.hygiene import mention_all
from bigmind.text.words import WORD

SUGGESTIONS = 3
SUGGEST_FROM = 2_000
"""How many names callers read from a table to compare: the rest would cost more than the hint is worth."""
ALIKE = 60
"""Similarity of 100 from which a name is suggested."""
SHORTEST = 3
"""Letters that a word needs: shorter ones resemble too many others."""
MISSPELT = 80
"""Similarity of 100 of a misspelt word: two swapped letters in a word of eight still pass."""


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three of the names that are spelled most like this one, best first, never the name itself."""
    others = [one for one in dict.fromkeys(names) if one != name]
    return [one for one, *_ in process.extract(name, others, limit=SUGGESTIONS, score_cutoff=ALIKE)]


def nearest_or(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return a hint with the nearest names, or `otherwise` when none is near."""
    near = nearest(name, names)
    return f"The nearest: {mention_all(near)}." if near else otherwise


def suggest_words(query: str, *, names: Iterable[str], texts: Iterable[str] = ()) -> list[str]:
    """Return up to three names, or words of the texts, that a misspelt word of a question may stand for.

    A common English word is spelled right: “use” stands for no “user”. A word and its plural are one word.

    Args:
        names: Topics, tags and keys that the user may see.
        texts: Texts that were found: each of their words is a possible correction.
    """
    words, known = WORD.findall(query.casefold()), list(dict.fromkeys(names))
    choices = {word: name for name in known for word in (name.casefold(), *WORD.findall(name.casefold()))}
    choices = {word: word for text in texts for word in WORD.findall(text.casefold())} | choices
    near = [
        (score, choices[word])
        for one in dict.fromkeys([*words, query.casefold().strip()])
        if len(one) >= SHORTEST and one not in choices and not is_common(one)
        for word, score, _ in process.extract(one, list(choices), scorer=fuzz.ratio, score_cutoff=MISSPELT)
        if len(word) >= SHORTEST and not (word.startswith(one) or one.startswith(word))
    ]
    return list(dict.fromkeys(name for _, name in sorted(near, key=lambda pair: -pair[0])))[:SUGGESTIONS]

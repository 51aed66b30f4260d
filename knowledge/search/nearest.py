"""Did you mean: the names that look most like one that is not there."""

from collections.abc import Iterable

from rapidfuzz import process

SUGGESTIONS = 3
SUGGEST_FROM = 2_000
"""Of names that are read from a table, so many are looked through."""
ALIKE = 60


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three of the names that look most like this one: what exists, never inventions, nor itself."""
    others = [one for one in dict.fromkeys(names) if one != name]
    return [one for one, *_ in process.extract(name, others, limit=SUGGESTIONS, score_cutoff=ALIKE)]


def nearest_or(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return a hint that names the nearest, or what to do where nothing is near."""
    near = nearest(name, names)
    return f"The nearest: {', '.join(near)}." if near else otherwise

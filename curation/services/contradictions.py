"""Contradictions: what two texts about the same thing may disagree on. A hint for a person, never a verdict.

No model decides here: two texts that are close in meaning are compared for the few signs by which statements of rules
usually differ: a number or version, a polarity (“must”, “must not”), an opposite (“always”, “never”).
"""

import re
from collections.abc import Iterator

_NUMBER = re.compile(
    # From the beginning of a run of such characters: from each of them, a long run takes the square of its length.
    r"(?<![\w./+-])[\d_./+-]*+(?P<before>[^\W\d_][\w./+-]*)\s*(?:[=:<>≥≤~^]+\s*|is\s+|of\s+|to\s+)?v?(?P<number>\d+(?:[.,]\d+)*)"
)
_UNIT = re.compile(r"(?<!\d)(?<!\d[.,])(?P<number>\d++(?:[.,]\d++)*+)\s*+(?P<after>%|[^\W\d_]{1,20})")
# Marks of markdown around a number or a word would hide what it belongs to.
_STRESS = re.compile(r"[*`~]+")
_WORD = re.compile(r"[^\W\d_]+(?:n't)?")
_NEGATIONS = frozenset({"not", "no", "never", "none", "without", "cannot", "nor", "nicht", "kein", "keine", "nie"})
_OPPOSITES = (
    ("always", "never"),
    ("allow", "forbid"),
    ("allowed", "forbidden"),
    ("enable", "disable"),
    ("enabled", "disabled"),
    ("must", "may"),
    ("required", "optional"),
    ("before", "after"),
    ("sync", "async"),
    ("synchronous", "asynchronous"),
    ("public", "private"),
    ("tabs", "spaces"),
    ("merge", "rebase"),
    ("mutable", "immutable"),
    ("use", "avoid"),
    ("prefer", "avoid"),
    ("include", "exclude"),
    ("on", "off"),
    ("true", "false"),
)


def contradictions(new: str, known: str) -> list[str]:
    """Say in words on what two texts may disagree, the plainest first; an empty list where nothing points to it."""
    ours, theirs = _STRESS.sub("", new), _STRESS.sub("", known)
    return list(dict.fromkeys((*_numbers(ours, theirs), *_opposites(ours, theirs), *_negations(ours, theirs))))[:5]


def _numbers(new: str, known: str) -> Iterator[str]:
    """The same word or unit with another number."""
    for pattern, word in ((_NUMBER, "before"), (_UNIT, "after")):
        ours, theirs = _numbered(pattern, word, new), _numbered(pattern, word, known)
        for name in ours.keys() & theirs.keys():
            if ours[name].isdisjoint(theirs[name]):
                here, there = " and ".join(sorted(ours[name])), " and ".join(sorted(theirs[name]))
                yield f"“{name}”: {here} here, {there} there"


def _numbered(pattern: re.Pattern[str], word: str, text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for match in pattern.finditer(text):
        found.setdefault(match[word].casefold(), set()).add(match["number"])
    return found


def _opposites(new: str, known: str) -> Iterator[str]:
    ours, theirs = _words(new), _words(known)
    for one, other in _OPPOSITES:
        for here, there in ((one, other), (other, one)):
            if here in ours and there in theirs and there not in ours and here not in theirs:
                yield f"“{here}” here, “{there}” there"


def _negations(new: str, known: str) -> Iterator[str]:
    ours, theirs = _negated(new), _negated(known)
    denied_here = (ours & _words(known)) - theirs
    denied_there = (theirs & _words(new)) - ours
    for word in sorted(denied_here):
        yield f"denied here: “{word}”"
    for word in sorted(denied_there):
        yield f"denied there: “{word}”"


def _words(text: str) -> set[str]:
    return {match[0].casefold() for match in _WORD.finditer(text)}


def _negated(text: str) -> set[str]:
    """The two words after each negation, where they carry meaning."""
    words = [match[0].casefold() for match in _WORD.finditer(text)]
    denied: set[str] = set()
    for place, word in enumerate(words):
        if word in _NEGATIONS or word.endswith("n't"):
            denied.update(follower for follower in words[place + 1 : place + 3] if len(follower) > 3)
    return denied

"""Sentences that BigMind wrote in English, such as refusals and notices, in the language of the person who reads them.

Agents, logs and rows have them in English. A page finds out of which template a sentence was made, and says it in the
reader's language with the same values: the templates are the messages with this context in the file of a language.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from django.utils.translation import get_language, gettext, pgettext, trans_real

from bigmind.core.load_once import load_once
from bigmind.core.translation import write_number

CONTEXT = "sentence"
NESTED = 2
"""How often a value may be a sentence again: a reason within a reason."""
MOST_CHARS = 4_000
MOST_PARTS = 8
MOST_TRIED = 100
"""How many parts of a sentence are compared with the templates; what is left then stays as it is."""
NAMES = {"state", "status", "kind", "role", "action", "word", "mode", "wanted"}
"""Values that are stored names, which pages say in the reader's language elsewhere too."""

_VALUE = re.compile(r"\{(\w+)\}")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+")
_FIELD = re.compile(r"[\w.-]{1,100} ")


@dataclass(frozen=True)
class SentenceTemplate:
    """A sentence of the code with the names of its values: `There is no note {id}.`"""

    text: str

    @cached_property
    def literals(self) -> list[str]:
        """What stands before, between and behind the values."""
        return _VALUE.split(self.text)[::2]

    @cached_property
    def names(self) -> list[str]:
        return _VALUE.findall(self.text)

    @cached_property
    def weight(self) -> int:
        """How much of the sentence is not left to values."""
        return sum(map(len, self.literals))

    def values_in(self, sentence: str) -> dict[str, str] | None:
        """Return the values of a sentence that was made of this; None if it was not."""
        if not self.names:
            return {} if sentence == self.text else None
        first, *between, last = self.literals
        if not (sentence.startswith(first) and sentence.endswith(last)) or len(sentence) < len(first) + len(last):
            return None
        places, end = [(0, len(first))], len(sentence) - len(last)
        for literal in between:
            found = sentence.find(literal, places[-1][1], end)
            if found < 0:
                return None
            places.append((found, found + len(literal)))
        values = [sentence[before[1] : after[0]] for before, after in pairwise([*places, (end, end)])]
        return dict(zip(self.names, values, strict=True))


@dataclass(frozen=True)
class Translated:
    """A sentence in the reader's language, and how much of it was known."""

    text: str
    weight: int


def in_language(sentence: str) -> str:
    """Say what BigMind wrote in English in the reader's language. What it did not write stays as it is."""
    known = templates_in(get_language() or "")
    translated = _SentenceReading(known).translate(str(sentence), NESTED) if known else None
    return translated.text if translated else sentence


class _SentenceReading:
    """The reading of one sentence. Anyone may have written its values, so each part is tried once, and only so many."""

    def __init__(self, known: dict[str, SentenceTemplate]) -> None:
        self._known = known
        self._read: dict[tuple[str, int], Translated | None] = {}
        self._tried: dict[tuple[str, int], Translated | None] = {}

    def translate(self, sentence: str, depth: int) -> Translated | None:
        """Return the reading of which most is known: one sentence, one about a field, or two in a row."""
        if not sentence or len(sentence) > MOST_CHARS:
            return None
        if (sentence, depth) not in self._read:
            self._read[sentence, depth] = self._translate(sentence, depth)
        return self._read[sentence, depth]

    def _translate(self, sentence: str, depth: int) -> Translated | None:
        whole = self._of_one(sentence, depth)
        if whole and whole.weight == len(sentence):
            return whole
        found = [whole, self._of_field(sentence, depth)]
        places = [match.start() + 1 for match in re.finditer(r"[.?!] ", sentence)]
        for place in places[:MOST_PARTS]:
            first = self._of_one(sentence[:place], depth) or self._of_field(sentence[:place], depth)
            if first and (rest := self.translate(sentence[place + 1 :], depth)):
                found.append(Translated(f"{first.text} {rest.text}", first.weight + rest.weight))
        return max((one for one in found if one), key=lambda one: one.weight, default=None)

    def _of_one(self, sentence: str, depth: int) -> Translated | None:
        key = sentence, depth
        if key not in self._tried and len(self._tried) < MOST_TRIED:
            # Noted before it is read, so that it counts against the limit while its values are read.
            self._tried[key] = None
            self._tried[key] = self._of_template(sentence, depth)
        return self._tried.get(key)

    def _of_template(self, sentence: str, depth: int) -> Translated | None:
        likely = [self._known[sentence]] if sentence in self._known else self._known.values()
        made = [(one, values) for one in likely if (values := one.values_in(sentence)) is not None]
        if not made:
            return None
        closest, values = max(made, key=lambda found: found[0].weight)
        shown = {name: self._value(name, value, depth - 1) for name, value in values.items()}
        text = _VALUE.sub(lambda found: shown.get(found[1], found[0]), pgettext(CONTEXT, closest.text))
        return Translated(text, closest.weight)

    def _of_field(self, sentence: str, depth: int) -> Translated | None:
        """Read a problem of one argument: its name, and what is wrong with it."""
        field = _FIELD.match(sentence)
        if field is None or not sentence.endswith("."):
            return None
        translated = self._of_one(sentence[field.end() : -1], depth)
        return Translated(f"{field[0]}{translated.text}.", translated.weight) if translated else None

    def _value(self, name: str, value: str, depth: int) -> str:
        if _NUMBER.fullmatch(value):
            return write_number(int(value.replace(",", "")))
        if name.rstrip("_0123456789") in NAMES:
            return gettext(value) if gettext(value) != value else gettext(value.capitalize()).lower()
        translated = self.translate(value, depth) if depth else None
        return translated.text if translated else value


@load_once
def templates_in(language: str) -> dict[str, SentenceTemplate]:
    """Return the templates of which the language that is chosen now has a translation."""
    ours = f"{CONTEXT}\x04"
    chosen: Any = trans_real.catalog()
    keys = (key for key, _ in chosen._catalog.items() if isinstance(key, str))
    return {text: SentenceTemplate(text) for key in keys if key.startswith(ours) and (text := key.removeprefix(ours))}

"""Prompt injections: finds suspicious places in a text, for the curator who decides whether all agents read it.

Nothing is refused because of them: all text for agents is fenced and attributed anyway. They show a person where to
look.
"""

import re
import unicodedata
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from dataclasses import dataclass

from bigmind.core.injection_signs import SIGNS, Severity
from bigmind.core.text import find_hidden_spans


@dataclass(frozen=True, slots=True)
class InjectionSign:
    """One suspicious place: its kind in words, its position, why it matters, and how much.

    A `warning` hardly ever has an innocent reason; a `notice` is worth a look.
    """

    kind: str
    start: int
    end: int
    why: str
    severity: Severity


_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{24,}+={0,2}")
_BLOB_CHARS = 4000
_WORD = re.compile(r"[^\W\d_]{3,60}")
_HIDDEN_WHY = {
    "bidirectional control": "Text is shown in another order than it is read by an agent.",
    "tag character": "Whole sentences can be written in characters that nobody sees.",
    "variation selector": "Bytes can be hidden behind a character, for an agent to read.",
    "zero-width character": "It splits or marks words unseen, so that searches and filters miss them.",
}


def find_injections(text: str) -> list[InjectionSign]:
    """Return the places in a text that look like attempts to steer agents, in the order of the text.

    A place inside another of the same kind, or inside a warning, is left out.
    """
    found = [*_signs(text), *_find_encoded(text), *_find_hidden(text), *_find_mixed_scripts(text)]
    return _each_place_once(sorted(found, key=lambda one: (one.start, one.severity != "warning", -one.end)))


def _signs(text: str) -> Iterator[InjectionSign]:
    for sign in SIGNS:
        for pattern in sign.patterns:
            for match in pattern.finditer(text):
                yield InjectionSign(sign.kind, match.start(), match.end(), sign.why, sign.severity)


def _each_place_once(found: list[InjectionSign]) -> list[InjectionSign]:
    """Leave out places inside another of the same kind or of greater severity."""
    kept: list[InjectionSign] = []
    for one in found:
        # The last eight are enough, and keep a text that is full of signs from taking quadratic time.
        around = [each for each in kept[-8:] if each.start <= one.start and one.end <= each.end]
        if not any(each.kind == one.kind or each.severity == "warning" for each in around):
            kept.append(one)
    return kept


def _find_encoded(text: str) -> Iterator[InjectionSign]:
    """Find instructions in base64: nobody encodes a sentence for agents by accident."""
    why = "Someone wrote an instruction so that people do not read it and agents do."
    for match in _BASE64.finditer(text):
        decoded = _decode(match[0][:_BLOB_CHARS])
        if any(one.severity == "warning" or one.kind == "order to an agent" for one in _signs(decoded)):
            yield InjectionSign("encoded instruction", match.start(), match.end(), why, "warning")


def _decode(blob: str) -> str:
    whole = blob.rstrip("=")
    try:
        text = b64decode(whole + "=" * (-len(whole) % 4)).decode()
    except (Base64Error, UnicodeDecodeError):
        return ""
    return text if text.isprintable() or "\n" in text else ""


def _find_hidden(text: str) -> Iterator[InjectionSign]:
    for kind, start, end in find_hidden_spans(text):
        why = _HIDDEN_WHY.get(kind, "Nobody sees it, and an agent reads it.")
        yield InjectionSign(f"hidden text ({kind})", start, end, why, "warning")


def _find_mixed_scripts(text: str) -> Iterator[InjectionSign]:
    """Find words that mix Latin with look-alikes, such as a Cyrillic letter in the name of a bank."""
    if text.isascii():
        return
    why = "Letters that look alike come from different alphabets: the word is not the one that it seems to be."
    for match in _WORD.finditer(text):
        if not match[0].isascii() and _looks_latin(match[0]):
            yield InjectionSign("letters of two alphabets", match.start(), match.end(), why, "warning")


_LOOK_ALIKE = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "MATHEMATICAL", "FULLWIDTH"}


def _looks_latin(word: str) -> bool:
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return "LATIN" in scripts and bool(scripts & _LOOK_ALIKE)

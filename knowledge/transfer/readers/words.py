"""How the words of other programs become ours: headlines, categories, and texts too long for one item."""

import re
from collections.abc import Iterator

from bigmind.text.hygiene import REFUSED, SPELLED_OR_HIDDEN, cut, one_line

HEADLINE_CHARS = 120
PART_BYTES = 60_000

CATEGORIES = {
    "preference": {"preference", "preferences", "like", "likes", "style", "user_preferences", "food", "hobbies"},
    "decision": {"decision", "decisions", "design", "choice", "approach", "adr"},
    "constraint": {"constraint", "constraints", "requirement", "requirements", "rule", "rules", "limit", "warning"},
    "identity": {"identity", "person", "user", "personal_details", "profile", "role", "professional_details"},
    "codebase": {"codebase", "code", "tech", "technology", "project", "architecture", "implementation", "tool"},
}
"""Which words of other programs mean which of our categories."""

_SIGNS = (
    ("preference", re.compile(r"\b(prefers?|likes?|loves?|enjoys?|favou?rites?|dislikes?|hates?|wants?)\b", re.I)),
    ("decision", re.compile(r"\b(decided|chose|chosen|agreed|settled on|switched to)\b", re.I)),
    ("constraint", re.compile(r"\b(must|never|always|cannot|may not|do not|don't|only ever|required?)\b", re.I)),
    ("identity", re.compile(r"\b(name is|named|works? (as|at|for)|lives? in|is an? |born|speaks)\b", re.I)),
)


def category_of(text: str, *named: str, otherwise: str) -> str:
    """Return the category of a fact: by the name its source gives it, else by its words."""
    for name in named:
        for category, words in CATEGORIES.items():
            if name.strip().casefold() in words:
                return category
    return next((category for category, sign in _SIGNS if sign.search(text[:500])), otherwise)


def headline(text: str, *, otherwise: str) -> str:
    """Return a text as the headline of a session: one line without hidden characters, cut between words."""
    plain = SPELLED_OR_HIDDEN.sub(lambda found: "" if found["hidden"] else found[0], text[:2_000])
    return cut(one_line(REFUSED.sub("", plain)), HEADLINE_CHARS) or otherwise


def title_of(title: str, asked: str) -> str:
    """Return the title of a conversation as a headline; empty where it is the beginning of what was asked first.

    Some programs call a conversation so, and a question is no headline.
    """
    line, begins = headline(title, otherwise=""), one_line(asked)
    return "" if begins.casefold().startswith(line.rstrip("….").casefold()) else line


def parts_of(text: str) -> Iterator[str]:
    """Yield a text in parts that one note can hold, divided between lines."""
    part: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        for piece in _pieces(line):
            length = len(piece.encode(errors="replace"))
            if size + length > PART_BYTES:
                yield "".join(part)
                part, size = [], 0
            part.append(piece)
            size += length
    yield "".join(part)


def _pieces(line: str) -> Iterator[str]:
    """A line that is longer than a part, in pieces. A character has up to four bytes."""
    width = PART_BYTES // 4
    return (line[start : start + width] for start in range(0, len(line), width))

"""Saved memories as text: what someone copied from the list of memories that ChatGPT or Claude shows."""

import re
from collections.abc import Iterator

from knowledge.parsers.archives import Bundle, text_in

from .memory_drafts import DraftRow, FactDraft, Row, moment_of
from .words import category_of

MARK = re.compile(r"^\s*(?:[-*•]|\d{1,4}[.)])\s+")
DATED = re.compile(r"^\[(?P<day>\d{4}-\d{2}-\d{2})\][.:]?\s*")


def looks_like(bundle: Bundle) -> bool:
    """Whether it is a plain text file."""
    return any(name.lower().endswith(".txt") for name in bundle.names())


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a fact for each line or bullet. Headings only say what follows."""
    for name in bundle.names():
        if name.lower().endswith((".txt", ".md")):
            yield from facts_in(text_in(bundle, name), name)


def facts_in(text: str, name: str) -> Iterator[Row]:
    """Yield the facts of such a text. One may begin with its number and its day: `3. [2026-01-24]. Likes tea.`"""
    for number, line in enumerate(text.split("\n"), start=1):
        said = MARK.sub("", line, count=1).strip()
        if not said or said.startswith("#") or _is_heading(said):
            continue
        dated = DATED.match(said)
        fact = said[dated.end() :] if dated else said
        day = moment_of(dated["day"]) if dated else None
        fields = {"fact": fact, "category": category_of(fact, otherwise="identity"), "created_at": day}
        yield DraftRow(f"{name}, line {number}", FactDraft, fields)


def _is_heading(line: str) -> bool:
    """A bold line alone, or one that ends in a colon."""
    return (line.startswith("**") and line.rstrip(":").endswith("**") and line.count("**") == 2) or line.endswith(":")

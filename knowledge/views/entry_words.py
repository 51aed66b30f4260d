"""What an entry is called, and how it goes on: entries have no title of their own, only the text that was written."""

import re
from dataclasses import dataclass

READ_CHARS = 4_000
TITLE_CHARS = 110
EXCERPT_CHARS = 280

_HEADING = re.compile(r"#{1,6}[ \t]+(\S[^\n]*)")
_OPENERS = re.compile(r"^\s*(?:(?:#{1,6}|>|[-*+]|\d{1,3}[.)])\s+)+")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^)\n]{0,500}\)")
_STRESS = re.compile(r"\*\*|~~|`+")


@dataclass(frozen=True)
class EntryWords:
    """The words an entry is shown by in a list."""

    title: str
    excerpt: str


def words_of(content: str) -> EntryWords:
    """Return the first line as a title, and what follows it as an excerpt, both without markdown.

    Tables are left out. Headings and the points of a list are set apart from what stands before them.
    """
    lines = [line for line in content[:READ_CHARS].splitlines() if re.search(r"\w", line)]
    first, *others = [line for line in lines if not line.lstrip().startswith("|")] or lines or [content[:TITLE_CHARS]]
    title, whole = shorten(plain(first), TITLE_CHARS), plain(first)
    rest = [whole[len(title) - 1 :].strip()] if title != whole else []
    rest += [f"· {plain(line)}" if _OPENERS.match(line) else plain(line) for line in others]
    return EntryWords(title, shorten(" ".join(rest).removeprefix("· "), EXCERPT_CHARS))


def heading_and_body(content: str) -> tuple[str, str]:
    """Split a text that opens with a heading into that and the rest. Without one the heading is empty."""
    text = content.lstrip()
    found = _HEADING.match(text)
    heading = plain(found[1]).rstrip("# ") if found else ""
    return (heading, text[found.end() :]) if found and heading else ("", content)


def plain(text: str) -> str:
    """Return markdown in one line without its marks."""
    line = _STRESS.sub("", _LINK.sub(r"\1", _OPENERS.sub("", text)))
    return " ".join(line.split())


def shorten(text: str, chars: int) -> str:
    """Return a text of at most so many characters, cut between words where that is possible."""
    if len(text) <= chars:
        return text
    cut = text[: chars - 1]
    space = cut.rfind(" ")
    return f"{cut[:space] if space > chars // 2 else cut}…"

"""The name of the command or the request that a text is about, as its title says it or its code shows it."""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from knowledge.reference_vocabulary import ReferenceKind

_FENCE = "```"
_PLACEHOLDER = re.compile(r"[<\[{(\"'-]|\.\.\.|…|[A-Z_]{2,}$")
# What stands in an example for a placeholder: an address, a path, an id, a number, a variable, a list.
_CONCRETE = re.compile(
    r"[^@\s]*@|[./~$%*]|[^\s:/]{1,20}:/|\d+(?:[\s.:/-]|$)|[0-9a-fA-F]{7,}$|[^\s.]+\.[a-z]{2,4}$|[^\s=]*=|[^\s,]*,|[^\s/]+/"
)
_COMMAND_WORD = re.compile(r"[a-z0-9][\w:.+-]*$")
_REQUEST_LINE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (/[^\s`'\"]{0,500})")


def name_in(kind: str, title: str, content: str, examples: Iterable[str] = ()) -> str:
    """Return what an entry is called exactly: a command, the request line of an endpoint, else nothing."""
    if kind == ReferenceKind.API:
        found = _REQUEST_LINE.search(f"{title}\n{content}")
        return f"{found[1]} {found[2]}" if found else ""
    return _command_in(title, content, list(examples)) if kind == ReferenceKind.COMMAND else ""


def _command_in(title: str, content: str, examples: list[str]) -> str:
    """Return the command that the title names, with the program that the code has in front; else that of the code.

    A title names a command if it has a placeholder, or if code begins with its words. The values of an example are no
    part of a command: `gw users get ada@example.com` shows `gw users get`.
    """
    lines = _lines_of_code(content) or _lines_of(examples)
    named = _words_of(title.strip("` "))
    if named and all(map(_COMMAND_WORD.match, named)):
        for words in (*lines, *_lines_of(examples)):
            for before in (0, 1):
                if words[before : before + len(named)] == named:
                    return " ".join(words[: before + len(named)])
        if len(named) < len(title.split()):
            return " ".join(named)
    first = _until_placeholder(lines[0]) if lines else []
    return " ".join([*first[:1], *takewhile(lambda word: not _CONCRETE.match(word), first[1:])])


def _lines_of_code(content: str) -> list[list[str]]:
    return _lines_of(_blocks(content))


def _lines_of(texts: Iterable[str]) -> list[list[str]]:
    lines = (line.split() for text in texts for line in text.splitlines())
    return [words for line in lines if (words := line[1:] if line[:1] in (["$"], [">"]) else line)]


def _words_of(title: str) -> list[str]:
    return _until_placeholder(title.split())


def _until_placeholder(words: list[str]) -> list[str]:
    return list(takewhile(lambda word: not _PLACEHOLDER.match(word), words))


def _blocks(content: str) -> Iterator[str]:
    """Yield what stands in each block of code; the last one may have no end."""
    opens = content.find(_FENCE)
    while opens >= 0 and (begins := content.find("\n", opens) + 1):
        ends = content.find(_FENCE, begins)
        yield content[begins:] if ends < 0 else content[begins:ends]
        opens = -1 if ends < 0 else content.find(_FENCE, ends + len(_FENCE))

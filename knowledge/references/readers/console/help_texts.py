"""What a console says of its commands besides running them: usage lines, help texts, tables of help, examples."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tree_sitter import Node

from knowledge.references.readers.console.source import ParsedFile, jsx_tag, jsx_text, properties_of, string_of, text_of
from knowledge.references.readers.help.usage import read_usage

_ROW = re.compile(
    r"\s*+(?>(?:[-*•]\s*+)?)(?:\$ )?(?P<command>[a-z][^\s].*?)(?<!\s)(?:\s{2,}|\s+(?:[-–—:#]|→)\s+|\t+)(?P<said>\S.*)",
    re.I,
)
_USAGE = re.compile(r"\s*usage:\s*(?P<line>\S.*)", re.I)
_EXAMPLE = re.compile(r"\s*(?:example|e\.g\.|for example):?\s+(?P<line>\S.*)", re.I)
_NAMES = ("usage", "syntax", "name", "command", "cmd", "example", "code")
_SAYS = ("description", "desc", "summary", "help", "text", "about")
_CODE_TAGS = {"code", "pre", "kbd", "samp"}
LONGEST_ROW = 400


@dataclass(frozen=True)
class Help:
    """One thing said about a command line. `is_example` where it is a line to type rather than a form of it."""

    line: str
    said: str
    where: str
    is_example: bool = False
    is_usage: bool = False


def helps_of(source: ParsedFile) -> Iterator[Help]:
    """Return all that the source says about command lines."""
    for node in source.strings:
        yield from _in_text(string_of(node), source.place(node))
    for node in source.objects:
        yield from _in_object(node, source)
    for element in source.jsx:
        yield from _in_elements(element, source)


def _in_text(text: str, where: str) -> Iterator[Help]:
    for line in text.splitlines()[:2_000]:
        if len(line) > LONGEST_ROW:
            continue
        if usage := _USAGE.fullmatch(line):
            yield Help(usage["line"], "", where, is_usage=True)
        elif example := _EXAMPLE.fullmatch(line):
            yield Help(example["line"], "", where, is_example=True)
        elif (row := _ROW.fullmatch(line)) and "{" not in row["command"]:
            yield Help(row["command"], row["said"], where)
        elif re.match(r"\s{2,}[a-z]", line):
            yield Help(line.strip(), "", where, is_example=True)


def _in_object(node: Node, source: ParsedFile) -> Iterator[Help]:
    fields = {text_of(key).strip("'\""): string_of(value)
              for key, value, _ in properties_of(node) if value.type in ("string", "template_string")}  # fmt: skip
    text = next((fields[name] for name in _SAYS if name in fields), "")
    for name in _NAMES:
        if name in fields and text:
            yield Help(fields[name], text, source.place(node), is_example=name in ("example", "code"),
                       is_usage=name in ("usage", "syntax"))  # fmt: skip


def _in_elements(parent: Node, source: ParsedFile) -> Iterator[Help]:
    """Return what neighbouring elements say of one another: a cell with a command, and the next with what it does."""
    elements = [each for each in parent.named_children if each.type == "jsx_element" and _is_leaf(each)]
    for one, other in pairwise(elements):
        first, second = jsx_text(one)[:LONGEST_ROW], jsx_text(other)[:LONGEST_ROW]
        if not first or not second:
            continue
        if jsx_tag(other) in _CODE_TAGS and jsx_tag(one) not in _CODE_TAGS:
            yield Help(second, first, source.place(other), is_example=True)
        else:
            yield Help(first, second, source.place(one))


def _is_leaf(element: Node) -> bool:
    return not any(each.type == "jsx_element" for each in element.named_children)


def literal_words(line: str) -> tuple[str, ...]:
    """Return the words that a command line begins with, before anything that stands for something else."""
    return read_usage(line.removeprefix("$ ").removeprefix("> ").removeprefix("/")).words

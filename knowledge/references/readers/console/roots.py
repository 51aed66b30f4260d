"""Where a typed line enters the code of a console."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from knowledge.references.readers.console.source import Declared, ParsedFile, text_of
from knowledge.references.readers.console.values import UNKNOWN, Code, LineWords, Value, WholeLine, Word

_LINES = re.compile(
    r"(raw|full|typed|user)?_?(command|cmd|line|input|text|commandline|commandstring|cmdline|str)$", re.I
)
_WORDS = re.compile(r"_?(args?|argv|parts|tokens|words|params|rest)$", re.I)
_SPLITS = re.compile(r"""\.split\(\s*(['"`] ['"`]|/(\\s|\[\\s\]| )[+*]?/)|process\.argv|\.match\(/\\S""")


@dataclass(frozen=True)
class Root:
    """A function that takes a line, and what it takes.

    Attributes:
        is_strong: Whether it cuts the line into words itself.
    """

    code: Code
    arguments: tuple[Value, ...]
    is_strong: bool
    name: str


def roots_of(source: ParsedFile, entry: str = "") -> list[Root]:
    """Return the functions where a line may enter, those that cut it into words first."""
    found = []
    for declared in source.functions:
        arguments, name = _arguments(declared.value), _name(declared)
        if entry and name != entry:
            continue
        splits = bool(_SPLITS.search(text_of(declared.value)))
        if entry or splits or any(value is not UNKNOWN for value in arguments):
            found.append(Root(Code(declared.value, declared.statement), arguments, splits, name))
    return sorted(found, key=lambda root: not root.is_strong)


def _name(declared: Declared) -> str:
    named = declared.value.child_by_field_name("name") or _find_declared_name(declared.statement)
    return text_of(named) if named is not None else ""


def _find_declared_name(statement: Node) -> Node | None:
    waiting = [statement]
    while waiting:
        node = waiting.pop(0)
        if (name := node.child_by_field_name("name")) is not None:
            return name
        waiting.extend(node.named_children[:4])
    return None


def _arguments(function: Node) -> tuple[Value, ...]:
    single = function.child_by_field_name("parameter")
    parameters = function.child_by_field_name("parameters")
    nodes = [single] if single is not None else parameters.named_children if parameters is not None else []
    kinds = [_kind(each) for each in nodes if each is not None and each.type != "comment"]
    # `(action, args)`: the first word, and those behind it.
    position, values = 0, list[Value]()
    for number, kind in enumerate(kinds):
        if kind == "words":
            values.append(LineWords(position))
        elif kind == "text" and "words" in kinds[number:]:
            values.append(Word(position))
            position += 1
        else:
            values.append(WholeLine() if kind == "line" else UNKNOWN)
    return tuple(values)


def _kind(parameter: Node) -> str:
    """Say what a parameter is by its type and name: the line, its words, a text, or something else."""
    pattern = parameter.child_by_field_name("pattern") or parameter
    annotation = parameter.child_by_field_name("type")
    name, of_type = text_of(pattern), text_of(annotation).lstrip(": ") if annotation is not None else ""
    if pattern.type not in ("identifier", "rest_pattern"):
        return "other"
    if re.fullmatch(r"(readonly )?string\[\]|(Readonly)?Array<string>", of_type):
        return "words"
    if of_type in ("", "any", "unknown") and _WORDS.fullmatch(name.lstrip(".")):
        return "words"
    if of_type in ("string", "") and _LINES.fullmatch(name):
        return "line"
    return "text" if of_type == "string" else "other"

"""YAML read as plain trees with positions, without what makes it dangerous: aliases, tags, merge keys, depth."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from bigmind.core.errors import Invalid
from bigmind.text.hygiene import echo

DEPTH = 64
NODES = 300_000
Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# YAML 1.2's core schema, not 1.1: there `no`, `12:30` and `2026-01-24` are not the texts that people meant.
WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
INTEGER = re.compile(r"[-+]?[0-9]{1,19}")
NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")


class Position(NamedTuple):
    """A place in a text, counted from 0."""

    line: int
    column: int


class YamlNode(NamedTuple):
    """A value of a YAML document, and where it stands."""

    value: "str | int | float | bool | list[YamlNode] | dict[str, YamlNode] | None"
    start: Position
    end: Position
    is_flow: bool = False
    """Whether it is written in brackets or braces."""

    @property
    def line(self) -> int:
        """The line it begins on, counted from 1."""
        return self.start.line + 1

    @property
    def members(self) -> "dict[str, YamlNode]":
        """Its members by name; none where it is no mapping."""
        return self.value if isinstance(self.value, dict) else {}

    def text(self, name: str) -> str:
        """Return the text that a member is; empty where it is none."""
        member = self.members.get(name)
        return member.value if member and isinstance(member.value, str) else ""

    def plain(self) -> Any:
        """Return the value without positions."""
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        if isinstance(self.value, dict):
            return {name: node.plain() for name, node in self.value.items()}
        return self.value


def read_yaml(text: str, name: str) -> YamlNode | None:
    """Return the one document in a text, or None where there is none.

    Raises:
        Invalid: it is no YAML, has an alias, anchor or tag, a key twice, or is nested too deep; with file and line.
    """
    found = _read(_Tree(text, name))
    return found if found and found.value is not None else None


def read_plain_yaml(text: str, name: str) -> Any:
    """Return the value of the one document in a text, without positions, and with the same refusals."""
    return _read(_PlainTree(text, name))


def _read(tree: "_Tree") -> Any:
    try:
        return tree.document()
    except yaml.YAMLError as error:
        raise invalid_yaml(error, tree.name) from error


def invalid_yaml(error: yaml.YAMLError, name: str) -> Invalid:
    """Return the refusal of a file that is no YAML, with its line where it is known."""
    mark = getattr(error, "problem_mark", None)
    where = f"{name}, line {mark.line + 1}" if mark else name
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
    return Invalid(f"{where}: is not valid YAML: {problem}.")


class _Tree:
    """Builds nodes from the parser's events, so that a bomb is refused before it is anything in memory.

    Libraries that keep positions and comments resolve aliases, and are too slow for 4 MiB. Decision 8.
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.count = 0
        self.events: Iterator[Any] = yaml.parse(text, Loader=Loader)

    def document(self) -> Any:
        found, has_one = None, False
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if has_one:
                    raise self.refusal(event, "is a second document; one a file is allowed")
                found, has_one = self.node(next(self.events), DEPTH), True
        return found

    def node(self, event: Any, depth: int) -> Any:
        self.refuse_the_dangerous(event, depth)
        if isinstance(event, yaml.ScalarEvent):
            return self.place(plain_scalar(event), event, event.end_mark)
        is_list = isinstance(event, yaml.SequenceStartEvent)
        value, end = self.items(depth) if is_list else self.members(depth)
        return self.place(value, event, end)

    def place(self, value: Any, event: Any, end: Any) -> Any:
        is_flow = not isinstance(event, yaml.ScalarEvent) and bool(event.flow_style)
        return YamlNode(value, _position(event.start_mark), _position(end), is_flow)

    def items(self, depth: int) -> tuple[list[Any], Any]:
        nodes: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            nodes.append(self.node(event, depth - 1))
        return nodes, event.end_mark

    def members(self, depth: int) -> tuple[dict[str, Any], Any]:
        nodes: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            self.refuse_the_dangerous(event, depth)
            if not isinstance(event, yaml.ScalarEvent):
                raise self.refusal(event, "has a key that is not a text")
            if event.value in nodes:
                raise self.refusal(event, f"has the key {echo(event.value)} twice")
            nodes[event.value] = self.node(next(self.events), depth - 1)
        return nodes, event.end_mark

    def refuse_the_dangerous(self, event: Any, depth: int) -> None:
        self.count += 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise self.refusal(event, "has an alias or anchor (& or *); write the value out, or quote it")
        if event.tag is not None:
            raise self.refusal(event, f"has a tag ({event.tag[:50]}); only plain values are allowed")
        if depth == 0:
            raise self.refusal(event, f"is nested deeper than {DEPTH} levels")
        if self.count > NODES:
            raise self.refusal(event, f"has more than {NODES:,} values; split the file")

    def refusal(self, event: Any, why: str) -> Invalid:
        line = event.start_mark.line + 1
        return Invalid(f"{self.name}, line {line}: {why}.", problems=[{"field": "file", "message": why, "line": line}])


class _PlainTree(_Tree):
    """Builds the values alone, for callers that need no positions: nodes take half of the time."""

    def place(self, value: Any, event: Any, end: Any) -> Any:
        return value


def _position(mark: Any) -> Position:
    return Position(mark.line, mark.column)


def plain_scalar(event: Any) -> str | int | float | bool | None:
    """Return the value of a scalar event, as YAML 1.2's core schema has it."""
    text: str = event.value
    if event.style:  # It is quoted or a block, hence a text.
        return text
    if text.lower() in WORDS:
        value: bool | None = WORDS[text.lower()]
        return value
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if NUMBER.fullmatch(text) else text

"""JSON and YAML that strangers wrote, read as plain values: bounded in depth and number, aliases and all."""

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml

from bigmind.core.errors import Invalid
from bigmind.text.hygiene import REFUSED, echo
from knowledge.parsers.yaml_nodes import Loader, invalid_yaml, plain_scalar

DEPTH = 100
VALUES = 4_000_000
TEXT_TAG = "tag:yaml.org,2002:str"
REPLACEMENT = "\ufffd"


def read_document(text: str, name: str) -> Any:
    """Return what a JSON or YAML document says, as dictionaries with text keys, lists, texts, numbers and None.

    Characters that cannot be stored (NUL, controls, half a surrogate pair) are replaced, not refused: a public
    document must not fail for one of them in the hundredth description.

    Raises:
        Invalid: it is neither, or nested too deep, or too large once its aliases are written out; with the line.
    """
    if text.lstrip()[:1] in {"{", "["}:
        return _read_json(text, name)
    try:
        return _Yaml(text, name).document()
    except yaml.YAMLError as error:
        raise invalid_yaml(error, name) from error


def storable(text: str) -> str:
    """Return a text with a mark in place of every character that no text may have."""
    return text if text.isprintable() else REFUSED.sub(REPLACEMENT, text)


def _read_json(text: str, name: str) -> Any:
    try:
        read = json.loads(text)
    except json.JSONDecodeError as error:
        raise Invalid(f"{name}, line {error.lineno}: is not valid JSON: {error.msg}.") from error
    except RecursionError as error:
        raise Invalid(f"{name} is nested deeper than {DEPTH} levels.") from error
    except ValueError as error:
        raise Invalid(f"{name} has a number with too many digits.") from error
    return _tidy(read, name, DEPTH)


def _tidy(value: Any, name: str, depth: int) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict | list):
        if depth == 0:
            raise Invalid(f"{name} is nested deeper than {DEPTH} levels.")
        # In place: a second document beside the first would double what a large one takes.
        for key, item in enumerate(value) if isinstance(value, list) else list(value.items()):
            value[key] = _tidy(item, name, depth - 1)
        if isinstance(value, dict) and not all(map(str.isprintable, value)):
            return {storable(key): item for key, item in value.items()}
    return value


class _Anchored:
    """A value that aliases may repeat, and what a repetition costs."""

    def __init__(self, value: Any, values: int) -> None:
        self.value, self.values, self.height = value, values, _height(value)


class _Yaml:
    """Builds values from the parser's events. Aliases are counted as if they were written out."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.values = 0
        self.anchors: dict[str, _Anchored] = {}
        self.events: Iterator[Any] = yaml.parse(text, Loader=Loader)

    def document(self) -> Any:
        found, is_first = None, True
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if not is_first:
                    self.refuse(event, "is a second document; one a file is allowed")
                found, is_first = self.value(next(self.events), DEPTH), False
        return found

    def value(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self.repeat(event, depth)
        before = self.values
        self.count(event, 1)
        if isinstance(event, yaml.ScalarEvent):
            built = self.scalar(event)
        elif depth == 0:
            self.refuse(event, f"is nested deeper than {DEPTH} levels")
        else:
            is_list = isinstance(event, yaml.SequenceStartEvent)
            built = self.items(depth - 1) if is_list else self.members(depth - 1)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(built, self.values - before)
        return built

    def scalar(self, event: Any) -> Any:
        if event.tag is None:
            value = plain_scalar(event)
        elif event.tag in {TEXT_TAG, "!"}:
            value = event.value
        else:
            self.refuse(event, f"has a tag ({event.tag[:50]}); only plain values are allowed")
        if isinstance(value, str):
            return storable(value)
        return str(value) if isinstance(value, float) and not math.isfinite(value) else value

    def repeat(self, event: Any, depth: int) -> Any:
        anchored = self.anchors.get(event.anchor)
        if anchored is None:
            self.refuse(event, f"has the alias *{event.anchor[:50]} within, or before, what it stands for")
        self.count(event, anchored.values)
        if anchored.height > depth:
            self.refuse(event, f"is nested deeper than {DEPTH} levels")
        return anchored.value

    def items(self, depth: int) -> list[Any]:
        values = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            values.append(self.value(event, depth))
        return values

    def members(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        merged: list[Any] = []
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                self.refuse(event, "has a key that is not a text")
            key, value = storable(event.value), self.value(next(self.events), depth)
            if key == "<<" and not event.style:
                merged += value if isinstance(value, list) else [value]
            elif key in members:
                self.refuse(event, f"has the key {echo(key)} twice")
            else:
                members[key] = value
        for other in merged:
            members = {**other, **members} if isinstance(other, dict) else members
        return members

    def count(self, event: Any, values: int) -> None:
        self.values += values
        if self.values > VALUES:
            self.refuse(event, f"has more than {VALUES:,} values, its aliases written out")

    def refuse(self, event: Any, why: str) -> NoReturn:
        raise Invalid(f"{self.name}, line {event.start_mark.line + 1}: {why}.")


def _height(value: Any) -> int:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(_height, inner), default=0)
    return 0

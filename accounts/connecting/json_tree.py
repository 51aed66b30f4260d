"""JSON as editors keep it, with comments and trailing commas: where each value stands in its text.

Libraries that read such files give their values and lose their places; to change one entry and leave every other
character alone, the places are what is needed.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from .malformed import MalformedFile, line_of

DEEPEST = 64
BETWEEN = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
SCALAR = re.compile(r"true|false|null|-?\d[\d.eE+-]*")
BRACKETS = {"{": "}", "[": "]"}


@dataclass(frozen=True)
class JsonNode:
    """A value and where it stands: from `start` up to `end`.

    Attributes:
        value: What it is, as Python has it.
        entries: What an object or a list holds, in order.
        ends_with_comma: Whether a comma follows the last of them.
    """

    start: int
    end: int
    value: Any
    entries: tuple["JsonMember", ...] = ()
    ends_with_comma: bool = False


@dataclass(frozen=True)
class JsonMember:
    """A member of an object, from its name on, or an item of a list, which has no name."""

    start: int
    name: str
    node: JsonNode

    @property
    def end(self) -> int:
        """Where it ends: with its value."""
        return self.node.end


def read_tree(text: str) -> JsonNode:
    """Return the value of a text with the places of everything in it.

    Raises:
        Malformed: it is not JSON, not even with comments and trailing commas.
    """
    reader = _JsonReader(text)
    root = reader.value(reader.skip(1 if text.startswith("\ufeff") else 0), depth=0)
    rest = reader.skip(root.end)
    if rest < len(text):
        raise reader.wrong(rest, "there is more after the end of the JSON")
    return root


class _JsonReader:
    def __init__(self, text: str) -> None:
        self.text = text

    def wrong(self, at: int, reason: str) -> MalformedFile:
        return MalformedFile(line_of(self.text, at), reason)

    def skip(self, at: int) -> int:
        found = BETWEEN.match(self.text, at)
        at = found.end() if found else at
        if self.text.startswith("/*", at):
            raise self.wrong(at, "a comment does not end")
        return at

    def value(self, at: int, *, depth: int) -> JsonNode:
        if depth > DEEPEST:
            raise self.wrong(at, f"it is nested more than {DEEPEST} levels deep")
        if self.text[at : at + 1] in BRACKETS:
            return self._container(at, depth=depth)
        found = STRING.match(self.text, at) or SCALAR.match(self.text, at)
        if found is None:
            raise self.wrong(at, f"a value is expected, not {self._describe_char(at)}")
        return JsonNode(at, found.end(), self._scalar(found))

    def _container(self, start: int, *, depth: int) -> JsonNode:
        is_object = self.text[start] == "{"
        closing = BRACKETS[self.text[start]]
        entries: list[JsonMember] = []
        at, comma = self.skip(start + 1), False
        while not self.text.startswith(closing, at):
            if entries and not comma:
                raise self.wrong(at, f"a comma or “{closing}” is expected, not {self._describe_char(at)}")
            entries.append(self._entry(at, is_object=is_object, depth=depth))
            at = self.skip(entries[-1].end)
            comma = self.text.startswith(",", at)
            at = self.skip(at + 1) if comma else at
        value = {one.name: one.node.value for one in entries} if is_object else [one.node.value for one in entries]
        return JsonNode(start, at + 1, value, tuple(entries), comma)

    def _entry(self, start: int, *, is_object: bool, depth: int) -> JsonMember:
        if not is_object:
            return JsonMember(start, "", self.value(start, depth=depth + 1))
        found = STRING.match(self.text, start)
        if found is None:
            raise self.wrong(start, f"a name in double quotes is expected, not {self._describe_char(start)}")
        at = self.skip(found.end())
        if not self.text.startswith(":", at):
            raise self.wrong(at, f"a colon is expected, not {self._describe_char(at)}")
        return JsonMember(start, str(self._scalar(found)), self.value(self.skip(at + 1), depth=depth + 1))

    def _scalar(self, found: re.Match[str]) -> Any:
        try:
            return json.loads(found[0])
        except ValueError as error:
            raise self.wrong(found.start(), f"{found[0][:20]} is no JSON value") from error

    def _describe_char(self, at: int) -> str:
        return f"“{self.text[at]}”" if at < len(self.text) else "the end of the file"

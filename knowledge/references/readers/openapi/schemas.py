"""Schemas with their references written out: wide before deep, up to a number of parts, and never in circles."""

import json
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from knowledge.references.readers.openapi.pointers import HOPS, ApiDocument, name_in
from knowledge.references.readers.openapi.reading import line, listing, mapping, texts

CUT = "x-cut"
"""Stands where a schema goes on; its value says why it does not go on here."""
LARGE = "goes on in the document"
RECURSIVE = "is part of itself"
DEPTH = 12
PARTS = 200
DESCRIPTION_CHARS = 300
VALUE_CHARS = 500
ENUM_VALUES = 50
PROPERTIES = 200
TEXTS = ("format", "pattern", "contentMediaType", "contentEncoding")
LIMITS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("uniqueItems", "nullable", "readOnly", "writeOnly", "deprecated"),
)
VALUES = ("const", "default", "example")
SINGLE = ("items", "additionalProperties", "not")
SEVERAL = ("oneOf", "anyOf", "prefixItems")


class _Waiting(NamedTuple):
    """A schema to write out, where it goes, and the references that lead to it."""

    schema: Any
    holder: Any
    key: str | int
    above: tuple[str, ...]
    depth: int


class Schemas:
    """Writes out the schemas of one document; what many operations share is written out once."""

    def __init__(self, document: ApiDocument) -> None:
        self._document = document
        self._written: dict[tuple[str, int], dict[str, Any]] = {}
        self._left = 0

    def write_out(self, schema: Any, where: str, *, parts: int) -> dict[str, Any]:
        """Return a schema with its references written out, in at most so many parts."""
        pointer = mapping(schema).get("$ref")
        if not isinstance(pointer, str):
            return self._write_out(schema, where, parts)
        if (pointer, parts) not in self._written:
            self._written[pointer, parts] = self._write_out(schema, where, parts)
        return self._written[pointer, parts]

    def _write_out(self, schema: Any, where: str, parts: int) -> dict[str, Any]:
        top: dict[str, Any] = {}
        queue = deque([_Waiting(schema, top, "schema", (), DEPTH)])
        left = parts - 1
        while queue:
            waiting = queue.popleft()
            self._left = PARTS
            flat, above = self._flatten(waiting.schema, waiting.above, where)
            node = waiting.holder[waiting.key] = _own_keywords(flat)
            for inner, holder, key in _inner(flat, node, left if waiting.depth else 0):
                queue.append(_Waiting(inner, holder, key, above, waiting.depth - 1))
                left -= 1
        found: dict[str, Any] = top["schema"]
        return found

    def _flatten(self, schema: Any, above: tuple[str, ...], where: str) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Follow a schema's reference, and make one schema of all that it has to be."""
        flat = mapping(schema)
        for _ in range(HOPS):
            if not isinstance(pointer := flat.get("$ref"), str):
                break
            if pointer in above:
                return {"title": name_in(pointer), CUT: RECURSIVE}, above
            above = (*above, pointer)
            beside = {key: value for key, value in flat.items() if key != "$ref"}
            flat = {"title": name_in(pointer), **(self._document.target(pointer, where) or {}), **beside}
        if not (parts := listing(flat.get("allOf"))):
            return flat, above
        merged: dict[str, Any] = {}
        for part in parts:
            if self._left == 0:
                break
            self._left -= 1
            one, above = self._flatten(part, above, where)
            merged = _merge(merged, {key: value for key, value in one.items() if key != CUT})
        return _merge(merged, {key: value for key, value in flat.items() if key != "allOf"}), above


def _merge(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    properties = {**mapping(first.get("properties")), **mapping(second.get("properties"))}
    required = list(dict.fromkeys([*texts(first.get("required")), *texts(second.get("required"))]))
    both = {**first, **second}
    both.update({"properties": properties} if properties else {}, **({"required": required} if required else {}))
    return both


def _own_keywords(flat: dict[str, Any]) -> dict[str, Any]:
    """What a schema says about itself, without what is in it."""
    node: dict[str, Any] = {key: flat[key] for key in LIMITS if isinstance(flat.get(key), bool | int | float)}
    node.update({key: line(flat[key], DESCRIPTION_CHARS) for key in TEXTS if isinstance(flat.get(key), str)})
    node.update({key: flat[key] for key in VALUES if key in flat and _is_short(flat[key])})
    if kind := _type(flat.get("type")):
        node["type"] = kind
    if title := line(flat.get("title"), DESCRIPTION_CHARS):
        node["title"] = title
    if description := line(flat.get("description"), DESCRIPTION_CHARS):
        node["description"] = description
    if required := texts(flat.get("required")):
        node["required"] = required[:PROPERTIES]
    if enum := [value for value in listing(flat.get("enum"))[:ENUM_VALUES] if _is_short(value)]:
        node["enum"] = enum
    if CUT in flat:
        node[CUT] = line(flat[CUT], DESCRIPTION_CHARS)
    return node


def _inner(flat: dict[str, Any], node: dict[str, Any], most: int) -> Iterator[tuple[Any, Any, str | int]]:
    """Make room in a node for the schemas within it, so many at most, and return each with its place."""
    if flat.get("additionalProperties") is False:
        node["additionalProperties"] = False
    inner: list[tuple[Any, str, str | int | None]] = []
    inner += [(flat[key], key, None) for key in SINGLE if isinstance(flat.get(key), dict) and flat[key]]
    inner += [(schema, "properties", name) for name, schema in mapping(flat.get("properties")).items()]
    for key in SEVERAL:
        inner += [(schema, key, place) for place, schema in enumerate(listing(flat.get(key)))]
    most = min(most, PROPERTIES)
    for schema, key, name in inner[:most]:
        if name is None:
            yield schema, node, key
        else:
            holder = node.setdefault(key, {} if key == "properties" else [])
            if isinstance(holder, list):
                holder.append({})
            yield schema, holder, name
    if len(inner) > most:
        node[CUT] = LARGE


def _type(value: Any) -> str | list[str]:
    if isinstance(value, list):
        return [line(kind, 40) for kind in texts(value)[:10]]
    return line(value, 40)


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= VALUE_CHARS
    if isinstance(value, dict | list):
        return len(json.dumps(value)) <= VALUE_CHARS
    return True

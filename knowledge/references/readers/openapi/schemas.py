"""Schemas: their references written out, wide before deep and never in circles, and what they say in words."""

import json
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from bigmind.text.hygiene import inline
from knowledge.references.readers.openapi.json_references import HOPS, ApiDocument, name_in
from knowledge.references.readers.openapi.values import line, listing, mapping, texts

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
_HOLDING = frozenset({*SINGLE, *SEVERAL, "properties"})
"""Keywords that hold other schemas. One without them says the same wherever it is written out."""

CHOICES = 6
ENUM_CHARS = 200
OUTLINE_CHARS = 160


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
        # The schema is kept with what it says: while it lives, no other has its id.
        self._plain: dict[int, tuple[Any, dict[str, Any]]] = {}
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
        # Wide before deep: where the parts run out, all fields of the top are there, and only what is far below is cut.
        queue = deque([_Waiting(schema, top, "schema", (), DEPTH)])
        left = parts - 1
        while queue:
            waiting = queue.popleft()
            self._left = PARTS
            if id(waiting.schema) in self._plain:
                waiting.holder[waiting.key] = self._plain[id(waiting.schema)][1]
                continue
            flat, above = self._flatten(waiting.schema, waiting.above, where)
            node = waiting.holder[waiting.key] = _own_keywords(flat)
            if flat is waiting.schema and not _HOLDING.intersection(flat):
                self._plain[id(flat)] = flat, node
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
            # Each part of an `allOf` may have an `allOf` of its own, which multiplies: all share one count.
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


def kind_in_words(schema: dict[str, Any]) -> str:
    """Return what a value is, such as `array of User`, `string (date-time) or null`."""
    if choices := [*listing(schema.get("oneOf")), *listing(schema.get("anyOf"))]:
        names = list(dict.fromkeys(kind_in_words(mapping(choice)) for choice in choices))
        kind = " or ".join(names[:CHOICES]) + (" or others" if len(names) > CHOICES else "")
    else:
        kind = _plain_kind(schema)
    return f"{kind} or null" if schema.get("nullable") is True and not kind.endswith(" or null") else kind


def _plain_kind(schema: dict[str, Any]) -> str:
    given = schema.get("type")
    kinds = texts(given) if isinstance(given, list) else [given] if isinstance(given, str) else []
    if "array" in kinds or (not kinds and "items" in schema):
        kind = f"array of {kind_in_words(mapping(schema.get('items')))}"
        return f"{kind} or null" if "null" in kinds else kind
    others = schema.get("additionalProperties")
    if "properties" not in schema and isinstance(others, dict) and not schema.get("title"):
        return f"map of {kind_in_words(others)}"
    if ("object" in kinds or not kinds) and schema.get("title"):
        kinds = [inline(schema["title"]), *(kind for kind in kinds if kind != "object")]
    named = " or ".join(kinds) or ("object" if "properties" in schema else "any")
    return f"{named} ({inline(schema['format'])})" if schema.get("format") else named


def about(schema: dict[str, Any], description: str = "") -> str:
    """Return the details of a value besides its type: its description, allowed values and default."""
    parts = [inline(line(description or schema.get("description"), OUTLINE_CHARS))]
    if enum := listing(schema.get("enum")):
        parts.append("One of " + line(", ".join(map(_value, enum)), ENUM_CHARS))
    if "const" in schema:
        parts.append(f"Always {_value(schema['const'])}")
    if "default" in schema and schema["default"] is not None:
        parts.append(f"Default {_value(schema['default'])}")
    if schema.get("deprecated") is True:
        parts.append("Deprecated")
    return " ".join(part if part.endswith(("…", "?", "!")) else f"{part.rstrip('.')}." for part in parts if part)


class Outlines:
    """Outlines of schemas; the one of a schema that many operations share is made once."""

    def __init__(self) -> None:
        # The schema is kept with its outline: while it lives, no other has its id.
        self._made: dict[tuple[int, int, int, bool], tuple[dict[str, Any], str]] = {}

    def of(self, schema: dict[str, Any], *, lines: int, depth: int, is_sent: bool) -> str:
        """Return a bullet for every field, so many at most; `is_sent` leaves out what only answers have."""
        key = (id(schema), lines, depth, is_sent)
        if key not in self._made:
            bullets = _outline(schema, lines=lines, depth=depth, is_sent=is_sent)
            self._made[key] = schema, "\n".join(bullets)
        return self._made[key][1]


def _outline(schema: dict[str, Any], *, lines: int, depth: int, is_sent: bool) -> list[str]:
    bullets: list[str] = []
    for bullet in _bullets(schema, depth, 0, "readOnly" if is_sent else "writeOnly"):
        if len(bullets) == lines:
            return [*bullets, "- … further fields are in the document."]
        bullets.append(bullet)
    return bullets


def _bullets(schema: dict[str, Any], depth: int, level: int, left_out: str) -> Iterator[str]:
    indent = "  " * level
    choices = [mapping(choice) for choice in (*listing(schema.get("oneOf")), *listing(schema.get("anyOf")))]
    inner = [choice for choice in choices if _has_fields(choice)]
    for number, choice in enumerate(inner[:CHOICES], 1):
        if len(inner) > 1:
            yield f"{indent}- choice {number}: {kind_in_words(choice)}"
        if depth > 0:
            yield from _bullets(choice, depth - 1, level + (len(inner) > 1), left_out)
    if isinstance(items := schema.get("items"), dict):
        yield from _bullets(items, depth, level, left_out)
    required = set(texts(schema.get("required")))
    for name, field in mapping(schema.get("properties")).items():
        if field.get(left_out) is not True:
            yield f"{indent}- {_bullet(name, field, is_required=name in required)}"
            if depth > 1 and _has_fields(field):
                yield from _bullets(field, depth - 1, level + 1, left_out)
    if isinstance(others := schema.get("additionalProperties"), dict):
        yield f"{indent}- any other name {_bullet('', others, is_required=False)}"
        if depth > 1 and _has_fields(others):
            yield from _bullets(others, depth - 1, level + 1, left_out)
    if schema.get(CUT) and level == 0 and "properties" not in schema:
        yield f"{indent}- … {inline(schema[CUT])}."


def _bullet(name: str, field: dict[str, Any], *, is_required: bool) -> str:
    marks = [kind_in_words(field), *(["required"] if is_required else []), *([field[CUT]] if CUT in field else [])]
    description = about(field)
    return f"{code(name)} ({', '.join(marks)})".lstrip() + (f": {description}" if description else "")


def _has_fields(schema: dict[str, Any]) -> bool:
    if any(key in schema for key in ("properties", "oneOf", "anyOf")):
        return True
    inner = [schema.get("items"), schema.get("additionalProperties")]
    return any(isinstance(one, dict) and _has_fields(one) for one in inner)


def code(name: str) -> str:
    """Return a name as it may stand in a line or cell of markdown, in backticks."""
    return f"`{line(name, 200).replace('`', chr(39)).replace('|', chr(92) + '|')}`" if name else ""


def _value(value: Any) -> str:
    return code(value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False))

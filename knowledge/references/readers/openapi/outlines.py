"""Schemas in words: what a value is, and a bullet for every field."""

import json
from collections.abc import Iterator
from typing import Any

from bigmind.core.text import inline
from knowledge.references.readers.openapi.reading import line, listing, mapping, texts
from knowledge.references.readers.openapi.schemas import CUT

CHOICES = 6
ENUM_CHARS = 200
DESCRIPTION_CHARS = 160


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
    """Return what is to be known of a value beside its kind: its description, the values it may have, its default."""
    parts = [inline(line(description or schema.get("description"), DESCRIPTION_CHARS))]
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
        wanted = (id(schema), lines, depth, is_sent)
        if wanted not in self._made:
            bullets = _outline(schema, lines=lines, depth=depth, is_sent=is_sent)
            self._made[wanted] = schema, "\n".join(bullets)
        return self._made[wanted][1]


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

"""Forgiving arguments: converts what models send to the form that the schema asks for, where the meaning is clear.

This applies to agents and to people at a command line. REST is strict: its document says what it takes.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from django.utils import timezone
from pydantic import BaseModel

from bigmind.core.errors import Invalid
from bigmind.core.handles import Handle, id_in

_DAYS = {"today": 0, "yesterday": 1}
_CLOSED_BY = {"[": "]", "{": "}"}


def forgive(model: type[BaseModel], schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in the form of their schema where their meaning is clear; all others unchanged.

    `null` counts as not sent; the JSON text of a list or an object becomes that list or object; the case of a choice
    does not matter; a handle such as `F12` becomes the id it names; `yesterday` becomes the start of that day.

    Raises:
        Invalid: a handle names another kind than the argument takes, or a text that looks like JSON is not valid.
    """
    properties, handles = schema.get("properties", {}), _handles_of(model)
    sent = {name: value for name, value in arguments.items() if value is not None or name not in properties}
    problems = []
    # Choices first: an argument that names a kind decides which handles another argument accepts.
    for name in sorted(sent.keys() & properties.keys(), key=handles.__contains__):
        try:
            sent[name] = _convert(sent[name], properties[name])
            if name in handles:
                sent[name] = _without_handle(sent[name], handles[name], sent, properties[name])
        except ValueError as error:
            problems.append({"field": name, "message": str(error)})
    if problems:
        raise Invalid(" ".join(f"{problem['field']} {problem['message']}." for problem in problems), problems=problems)
    return sent


def list_in(text: str) -> list[Any] | None:
    """Return the list in a JSON text; None for any other text.

    Raises:
        ValueError: the text begins and ends like a list, but is not valid JSON.
    """
    found: list[Any] | None = _json_in(text, "[")
    return found


def _convert(value: Any, schema: Mapping[str, Any]) -> Any:
    if schema.get("type") == "array":
        found = _convert_list(value)
        return [_convert(item, schema.get("items", {})) for item in found] if isinstance(found, list) else found
    if schema.get("type") == "object" and isinstance(value, str):
        found = _json_in(value, "{")
        return value if found is None else found
    if isinstance(value, str) and "enum" in schema:
        return next((choice for choice in schema["enum"] if choice.casefold() == value.strip().casefold()), value)
    if isinstance(value, str) and schema.get("format") == "date-time":
        return _convert_moment(value)
    return value


def _convert_list(value: Any) -> Any:
    # Some models send a list as JSON text, and some wrap that text in a list of one.
    text = value[0] if isinstance(value, list) and len(value) == 1 else value
    found = list_in(text) if isinstance(text, str) else None
    return value if found is None else found


def _json_in(text: str, opening: str) -> Any:
    shown = text.strip()
    if not shown.startswith(opening) or not shown.endswith(_CLOSED_BY[opening]) or ("\n" in shown and opening == "["):
        return None
    try:
        return json.loads(shown)
    except (ValueError, RecursionError) as error:
        example = '["a", "b"]' if opening == "[" else '{"a": 1}'
        raise ValueError(f"looks like JSON and cannot be read as such. Send {example}") from error


def _convert_moment(text: str) -> str:
    days = _DAYS.get(text.strip().lower())
    if days is None:
        return text
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight - timedelta(days=days)).isoformat()


def _without_handle(value: Any, handle: Handle, sent: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_without_handle(item, handle, sent, schema.get("items", {})) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and schema.get("type") == "string":
        value = str(value)
    kind = handle.kind or sent.get(handle.kind_in)
    return id_in(value, kind) if isinstance(value, str) and isinstance(kind, str) else value


@cache
def _handles_of(model: type[BaseModel]) -> dict[str, Handle]:
    """Return which arguments are ids, and of which kind, by the marks in their annotations."""
    found = {
        name: next((mark for mark in (*field.metadata, *_marks(field.annotation)) if isinstance(mark, Handle)), None)
        for name, field in model.model_fields.items()
    }
    return {name: handle for name, handle in found.items() if handle}


def _marks(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        yield from annotation.__metadata__
    for part in get_args(annotation):
        yield from _marks(part)

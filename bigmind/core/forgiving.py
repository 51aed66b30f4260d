"""Forgiving arguments: what models send where the meaning is plain, brought into the form the schema asks for.

Applied to what agents and people at a command line send. REST is strict: its document says what it takes.
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
    """Return arguments of a model as its schema wants them, as far as their meaning is plain; the rest as it came.

    `null` is an argument left out; the JSON text of a list or an object is that list or object; the case of a choice
    does not matter; a handle, such as `F12`, is the id it names; `yesterday` is when that day began.

    Raises:
        Invalid: a handle names another kind of thing than is meant, or what looks like a JSON text is none.
    """
    properties, handles = schema.get("properties", {}), _handles_of(model)
    sent = {name: value for name, value in arguments.items() if value is not None or name not in properties}
    problems = []
    # Choices first: an argument that says which kind of thing is meant decides what a handle may be.
    for name in sorted(sent.keys() & properties.keys(), key=handles.__contains__):
        try:
            sent[name] = _meant(sent[name], properties[name])
            if name in handles:
                sent[name] = _without_handle(sent[name], handles[name], sent, properties[name])
        except ValueError as error:
            problems.append({"field": name, "message": str(error)})
    if problems:
        raise Invalid(" ".join(f"{problem['field']} {problem['message']}." for problem in problems), problems=problems)
    return sent


def list_in(text: str) -> list[Any] | None:
    """Return the list that a JSON text says; None for another text.

    Raises:
        ValueError: it begins and ends as a list does, and is none.
    """
    found: list[Any] | None = _json_in(text, "[")
    return found


def _meant(value: Any, schema: Mapping[str, Any]) -> Any:
    if schema.get("type") == "array":
        found = _list_meant(value)
        return [_meant(item, schema.get("items", {})) for item in found] if isinstance(found, list) else found
    if schema.get("type") == "object" and isinstance(value, str):
        found = _json_in(value, "{")
        return value if found is None else found
    if isinstance(value, str) and "enum" in schema:
        return next((choice for choice in schema["enum"] if choice.casefold() == value.strip().casefold()), value)
    if isinstance(value, str) and schema.get("format") == "date-time":
        return _moment_meant(value)
    return value


def _list_meant(value: Any) -> Any:
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


def _moment_meant(text: str) -> str:
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
    """Which arguments are ids of what, by the marks in their annotations."""
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

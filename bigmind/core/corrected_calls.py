"""Corrected calls: the call that would have been right, for a refusal of one that was wrong.

A guess is never stored: what can only be guessed is offered to the caller, who knows what was meant.
"""

import ast
import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from bigmind.core.errors import Invalid
from bigmind.core.operations import Operation
from bigmind.core.screening import redact
from bigmind.core.text import Told

SHOWN_CHARS = 200
_NUMBER = re.compile(r"\d{1,9}(?:[.,]\d{1,9})?")
_DAYS = re.compile(r"\d{4}-\d\d-\d\d")


def repair(operation: Operation, arguments: Mapping[str, Any], refusal: Invalid) -> str:
    """Return the call as it would be accepted, in one line; empty where that is unknown.

    What only the caller can know stands in angle brackets; a long text is left out.
    """
    schema = operation.input_schema
    properties: dict[str, Any] = schema.get("properties", {})
    wrong = {str(problem["field"]): str(problem["message"]) for problem in refusal.problems}
    if not wrong or any(field not in properties and field not in arguments for field in wrong):
        return ""  # Something inside a list or an object, or beside the arguments.
    try:
        sent = operation.forgive(arguments)
    except Invalid:
        sent = {name: value for name, value in arguments.items() if value is not None}
    unknown = [name for name in sent if name not in properties]
    call = {name: _mend(sent[name], properties[name], wrong.get(name)) for name in sent if name in properties}
    missing = [name for name in schema.get("required", []) if name not in call]
    for name in unknown:
        if own := next(iter(get_close_matches(name, [one for one in properties if one not in call], 1, 0.7)), None):
            call[own] = _mend(sent[name], properties[own], None)
    for name in (*missing, *(field for field in wrong if field in properties)):
        call.setdefault(name, _placeholder(name, properties[name]))
    return _write_call(operation, call)


def complete(operation: Operation, arguments: Mapping[str, Any]) -> str:
    """Return the call of an operation with these arguments, as it would be accepted: what is missing is described."""
    try:
        operation.accept(operation.forgive(arguments))
    except Invalid as refusal:
        if call := repair(operation, arguments, refusal):
            return call
    return _write_call(operation, operation.forgive(arguments))


def _mend(value: Any, schema: Mapping[str, Any], problem: str | None) -> Any:
    if problem is None:
        return value
    if "enum" in schema:
        nearest = get_close_matches(str(value).lower(), schema["enum"], 1, 0.6)
        return nearest[0] if nearest else _placeholder("", schema)
    if schema.get("type") in {"integer", "number"}:
        return _number(value, schema)
    if schema.get("format") == "date-time":
        return next(iter(_DAYS.findall(problem)), "<a date such as 2026-03-30>")
    if schema.get("type") == "array" and isinstance(value, str):
        return _list(value)
    return _placeholder("", schema)


def _number(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the number that a text such as `8/10` or `90%` begins with, where the argument takes it."""
    text = str(value)
    found = _NUMBER.match(text.strip())
    low, high = schema.get("minimum"), schema.get("maximum")
    asked = f"<{low} to {high}>" if low is not None and high is not None and high < 10**6 else "<a number>"
    if found is None or isinstance(value, bool):
        return asked
    # A comma groups the digits of a whole number (`1,300`), and in any other it is the point (`0,8`).
    number = float(found[0].replace(",", "" if schema["type"] == "integer" else "."))
    if high == 1 and 1 < number <= 100:
        if number <= 10 and "%" not in text:  # Of ten, or per cent?
            return asked
        number /= 100
    if high is not None:
        number = min(number, high)
    if low is not None:
        number = max(number, low)
    return int(number) if schema["type"] == "integer" else number


def _list(text: str) -> Any:
    try:
        found = ast.literal_eval(text.strip()) if len(text) <= 4_000 else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if isinstance(found, list | tuple) and all(isinstance(item, str | int) for item in found):
        return list(found)
    inner = text.strip().strip("[]")
    return [part.strip().strip("\"'") for part in inner.split(",") if part.strip()] or ["<…>"]


def _placeholder(name: str, schema: Mapping[str, Any]) -> str:
    if choices := schema.get("enum"):
        return f"<{' | '.join(map(str, choices))}>"
    if examples := schema.get("examples"):
        return f"<such as {json.dumps(examples[0], ensure_ascii=False)}>"
    about = schema.get("description") or name or "…"
    return f"<{about.rstrip('.')}>"


def _write_call(operation: Operation, arguments: Mapping[str, Any]) -> Told:
    """Return a call in one line of JSON, in which a value cannot leave its quotes and nothing is invisible."""
    written = json.dumps(_as_json(arguments), ensure_ascii=False)
    shown = "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in written)
    return Told(f"{operation.name}({shown})")


def _as_json(call: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _short(redact(value)) if isinstance(value, str) else value
        for name, value in call.items()
        if not isinstance(value, dict)
    }


def _short(text: str) -> str:
    return f"{text[:SHOWN_CHARS]}… <as before>" if len(text) > SHOWN_CHARS else text

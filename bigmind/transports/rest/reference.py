"""The catalogue as people read it: what each argument may be, where it goes, and a command to try."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from bigmind.core.operations import Operation
from bigmind.core.vocabulary import CONTENT_BYTES
from bigmind.operations import CATALOGUE, TOOLSETS
from bigmind.transports.rest.arguments import IN_THE_QUERY
from bigmind.transports.rest.examples import example_arguments, example_reply
from bigmind.transports.rest.json_schema import schema_of, without_null
from bigmind.transports.rest.routes import ROOT, path_parameters

BOUNDLESS = 10**9


@dataclass(frozen=True)
class Argument:
    """One argument of an operation, in words."""

    name: str
    place: str
    kind: str
    presence: str
    about: str


@dataclass(frozen=True)
class Toolset:
    """A group of operations, and what it is for."""

    name: str
    about: str
    operations: list[Operation]


def toolsets() -> list[Toolset]:
    """Return the whole catalogue by toolset, in the order of the tables."""
    return [
        Toolset(name, about, [operation for operation in CATALOGUE.values() if operation.toolset == name])
        for name, about in TOOLSETS.items()
    ]


def arguments_in_words(operation: Operation) -> list[Argument]:
    """Return what may be sent, argument by argument."""
    schema, _ = schema_of(operation.arguments, "validation")
    in_path, required = path_parameters(operation), schema.get("required", [])
    elsewhere = "query" if operation.method in IN_THE_QUERY else "body"
    return [
        Argument(
            name=name,
            place="path" if name in in_path else elsewhere,
            kind=in_words(part),
            presence="required" if name in required else _default(part),
            about=without_null(part).get("description", ""),
        )
        for name, part in schema.get("properties", {}).items()
    ]


def in_words(schema: Mapping[str, Any]) -> str:
    """Say in a few words what a value may be: “whole number, 1 to 200”."""
    if "anyOf" in schema:
        return ", or ".join(in_words(choice) for choice in schema["anyOf"] if choice != {"type": "null"})
    if "enum" in schema or "const" in schema:
        return "one of " + ", ".join(str(value) for value in schema.get("enum", [schema.get("const")]))
    match schema.get("type"):
        case "array":
            return f"list{_bounds(schema, 'minItems', 'maxItems', ' items')} of: {in_words(schema['items'])}"
        case "string" if "format" in schema:
            return {"date-time": "moment (ISO 8601)", "uuid": "UUID"}.get(schema["format"], "text")
        case "string" if schema.get("maxLength") == CONTENT_BYTES:
            return f"text, up to {CONTENT_BYTES // 1024} KiB"
        case "string":
            return f"text{_bounds(schema, 'minLength', 'maxLength', ' characters')}"
        case "integer":
            return f"whole number{_bounds(schema, 'minimum', 'maximum')}"
        case "number":
            return f"number{_bounds(schema, 'minimum', 'maximum')}"
        case "boolean":
            return "true or false"
    return "object"


def curl_of(operation: Operation, url: str) -> str:
    """Return the command that sends the operation's example."""
    arguments = example_arguments(operation)
    in_path = path_parameters(operation)
    path = operation.path.format(**{name: arguments[name] for name in in_path})
    rest = {name: value for name, value in arguments.items() if name not in in_path}
    address, lines = f"{url}{ROOT}{path}", ['-H "Authorization: Bearer $BIGMIND_API_KEY"']
    if operation.method in IN_THE_QUERY:
        address += f"?{urlencode(rest, doseq=True)}" if rest else ""
    else:
        body = json.dumps(rest, indent=2, ensure_ascii=False)
        lines += ['-H "Content-Type: application/json"', f"-d {shlex.quote(body)}"]
    command = "curl" if operation.method == "GET" else f"curl -X {operation.method}"
    return " \\\n  ".join([f"{command} {shlex.quote(address)}", *lines])


def reply_of(operation: Operation) -> str:
    """Return the example's reply as JSON."""
    return json.dumps(example_reply(operation), indent=2, ensure_ascii=False)


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return "optional" if default in (None, "", []) else f"default {json.dumps(default)}"


def _bounds(schema: Mapping[str, Any], lowest: str, highest: str, unit: str = "") -> str:
    low, high = schema.get(lowest), schema.get(highest)
    if high is None or high >= BOUNDLESS:
        return f", {low:,} or more{unit}" if low is not None else ""
    return f", {low:,} to {high:,}{unit}" if low is not None else f", up to {high:,}{unit}"

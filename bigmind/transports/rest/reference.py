"""The catalogue as people read it: each argument, where it goes, a command to try; and the page that shows it."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.csrf import csrf_exempt

from bigmind.core.limits import JSON_DEPTH
from bigmind.core.operations import Operation
from bigmind.core.vocabulary import CONTENT_BYTES
from bigmind.operations import CATALOGUE, TOOLSETS
from bigmind.transports.rest.arguments import IMPORT_BYTES, IN_THE_QUERY
from bigmind.transports.rest.examples import example_arguments, example_reply
from bigmind.transports.rest.json_schema import schema_of, without_null
from bigmind.transports.rest.problems import TITLES, problem
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
            return {"date-time": "moment (ISO 8601)", "date": "date (ISO 8601)", "uuid": "UUID"}.get(
                schema["format"], "text"
            )
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


@csrf_exempt  # Nothing is changed here, and a mistaken POST gets the same kind of error as elsewhere.
def api_docs(request: HttpRequest) -> HttpResponse:
    """Show every route with its arguments, limits and an example."""
    if request.method not in {"GET", "HEAD"}:
        headers = {"Allow": "GET, HEAD"}
        return problem(405, "method_not_allowed", "This page can only be read.", hint=f"See {ROOT}.", headers=headers)
    groups = [
        {
            "toolset": toolset,
            "routes": [
                {
                    "operation": operation,
                    "paragraphs": [_with_code(text) for text in operation.description.split("\n\n")],
                    "arguments": arguments_in_words(operation),
                    "curl": curl_of(operation, settings.PUBLIC_URL),
                    "reply": reply_of(operation),
                }
                for operation in toolset.operations
            ],
        }
        for toolset in toolsets()
    ]
    context = {
        "groups": groups,
        "problems": TITLES,
        "root": ROOT,
        "rate_limit": settings.RATE_LIMIT_PER_MINUTE,
        "body_mib": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 2**20,
        "import_mib": IMPORT_BYTES // 2**20,
        "json_depth": JSON_DEPTH,
    }
    return render(request, "api/docs.html", context)


def _with_code(text: str) -> SafeString:
    """Draw what stands in backticks as code: descriptions are written for agents, who read markdown."""
    parts = enumerate(text.split("`"))
    return format_html_join("", "{}", ((format_html("<code>{}</code>", part) if n % 2 else part,) for n, part in parts))

"""The catalogue as people read it: each argument, where it goes, examples to copy; and the pages that show it."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pprint import pformat
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.csrf import csrf_exempt

from bigmind.core.limits import CONTENT_BYTES, IMPORT_BYTES, JSON_DEPTH
from bigmind.core.operations import Operation
from bigmind.operation_search import rank_operations
from bigmind.operations import CATALOGUE
from bigmind.toolsets import TOOLSETS
from bigmind.transports.rest.examples import example_arguments, example_reply
from bigmind.transports.rest.json_schema import schema_of, without_null
from bigmind.transports.rest.openapi_operation import statuses_of
from bigmind.transports.rest.problems import TITLES, problem
from bigmind.transports.rest.request_reading import IN_THE_QUERY
from bigmind.transports.rest.routes import ROOT, path_parameters
from bigmind.transports.rest.views import no_such_route

BOUNDLESS = 10**9
QUERY_CHARS = 200
MOST_FOUND = 20


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


@dataclass(frozen=True)
class ExampleRequest:
    """The request that sends an operation's example: its method, its address, and its body where it has one."""

    method: str
    address: str
    body: dict[str, Any] | None

    @classmethod
    def of(cls, operation: Operation, url: str) -> "ExampleRequest":
        """Return the example of an operation, sent to the BigMind at an address."""
        arguments = example_arguments(operation)
        in_path = path_parameters(operation)
        path = operation.path.format(**{name: arguments[name] for name in in_path})
        rest = {name: value for name, value in arguments.items() if name not in in_path}
        if operation.method not in IN_THE_QUERY:
            return cls(operation.method, f"{url}{ROOT}{path}", rest)
        query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in rest.items()}
        return cls(operation.method, f"{url}{ROOT}{path}" + (f"?{urlencode(query, doseq=True)}" if rest else ""), None)

    def to_curl(self) -> str:
        """Return it as a command of a shell."""
        lines = ['-H "Authorization: Bearer $BIGMIND_API_KEY"']
        if self.body is not None:
            body = json.dumps(self.body, indent=2, ensure_ascii=False)
            lines += ['-H "Content-Type: application/json"', f"-d {shlex.quote(body)}"]
        command = "curl" if self.method == "GET" else f"curl -X {self.method}"
        return " \\\n  ".join([f"{command} {shlex.quote(self.address)}", *lines])

    def to_python(self) -> str:
        """Return it as a program in Python, with httpx."""
        body = "" if self.body is None else f"    json={_indent(pformat(self.body, width=96, sort_dicts=False))},\n"
        return (
            "import os\n\nimport httpx\n\nresponse = httpx.request(\n"
            f"    {self.method!r},\n    {self.address!r},\n"
            "    headers={'Authorization': f\"Bearer {os.environ['BIGMIND_API_KEY']}\"},\n"
            f"{body})\nresponse.raise_for_status()\nprint(response.json())\n"
        )

    def to_javascript(self) -> str:
        """Return it as a module in JavaScript, for Node 18 or later."""
        has_body = self.body is not None
        headers = ["Authorization: `Bearer ${process.env.BIGMIND_API_KEY}`"]
        headers += ['"Content-Type": "application/json"'] * has_body
        body = _indent(json.dumps(self.body, indent=2, ensure_ascii=False), 2)
        return (
            f"const response = await fetch({json.dumps(self.address)}, {{\n  method: {json.dumps(self.method)},\n"
            f"  headers: {{{', '.join(headers)}}},\n"
            + (f"  body: JSON.stringify({body}),\n" if has_body else "")
            + "});\nconst reply = await response.json();\nif (!response.ok) throw new Error(reply.detail);\n"
            "console.log(reply);\n"
        )


def _indent(text: str, by: int = 4) -> str:
    """Indent what follows the first line of a value, as it stands behind its name."""
    return text.replace("\n", "\n" + " " * by)


def reply_of(operation: Operation) -> str:
    return json.dumps(example_reply(operation), indent=2, ensure_ascii=False)


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return "optional" if default in (None, "", []) else f"default {json.dumps(default)}"


def _bounds(schema: Mapping[str, Any], lowest: str, highest: str, unit: str = "") -> str:
    low, high = schema.get(lowest), schema.get(highest)
    if high is None or high >= BOUNDLESS:
        return f", {low:,} or more{unit}" if low is not None else ""
    return f", {low:,} to {high:,}{unit}" if low is not None else f", up to {high:,}{unit}"


Page = Callable[..., HttpResponse]


def _only_read(page: Page) -> Page:
    """Refuse with a problem whatever is no GET: what is sent here by mistake gets the kind of error as elsewhere."""

    @csrf_exempt  # Nothing is changed here.
    @wraps(page)
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method in {"GET", "HEAD"}:
            return page(request, *args, **kwargs)
        headers = {"Allow": "GET, HEAD"}
        return problem(405, "method_not_allowed", "This page can only be read.", hint=f"See {ROOT}.", headers=headers)

    return view


@_only_read
def api_docs(request: HttpRequest) -> HttpResponse:
    """List every operation by toolset, or those that a query finds, with what holds for all of them."""
    query = request.GET.get("query", "")[:QUERY_CHARS].strip()
    context = {
        "query": query,
        "found": _matches(query) if query else [],
        "groups": toolsets(),
        "problems": TITLES,
        "root": ROOT,
        "rate_limit": settings.RATE_LIMIT_PER_MINUTE,
        "body_mib": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 2**20,
        "import_mib": IMPORT_BYTES // 2**20,
        "json_depth": JSON_DEPTH,
    }
    return render(request, "api/docs.html", context)


@_only_read
def api_toolset(request: HttpRequest, name: str) -> HttpResponse:
    """List the operations of a toolset, each with its first sentence."""
    toolset = next((one for one in toolsets() if one.name == name and one.operations), None)
    if toolset is None:
        return no_such_route(request)
    return render(request, "api/toolset.html", {"toolset": toolset, "groups": toolsets(), "root": ROOT})


@_only_read
def api_operation(request: HttpRequest, name: str) -> HttpResponse:
    """Show an operation: what it does, its arguments with their limits, its errors, and examples to copy."""
    operation = CATALOGUE.get(name)
    if operation is None:
        return no_such_route(request)
    sent = ExampleRequest.of(operation, settings.PUBLIC_URL)
    context = {
        "operation": operation,
        "paragraphs": [_with_code(text) for text in operation.description.split("\n\n")],
        "arguments": arguments_in_words(operation),
        "examples": [
            ("curl", sent.to_curl()),
            ("Python", sent.to_python()),
            ("JavaScript", sent.to_javascript()),
        ],
        "reply": reply_of(operation),
        "problems": statuses_of(operation),
        "root": ROOT,
    }
    return render(request, "api/operation.html", context)


def _matches(query: str) -> list[Operation]:
    """Return the operations that have every word of a query, or else those that do what it says, best first."""
    words = query.lower().split()
    whole = [
        operation
        for operation in CATALOGUE.values()
        if all(word in f"{operation.name} {operation.title} {operation.path}".lower() for word in words)
    ]
    return whole or rank_operations(query, list(CATALOGUE.values()))[:MOST_FOUND]


def _with_code(text: str) -> SafeString:
    """Draw what stands in backticks as code: descriptions are written for agents, who read markdown."""
    parts = enumerate(text.split("`"))
    return format_html_join("", "{}", ((format_html("<code>{}</code>", part) if n % 2 else part,) for n, part in parts))

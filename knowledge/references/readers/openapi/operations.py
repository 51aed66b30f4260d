"""The operations of a document: every method of every path, with what it shares with its path and its document."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from knowledge.references.readers.openapi.pointers import ApiDocument
from knowledge.references.readers.openapi.reading import line, listing, mapping, text, texts

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
OPERATIONS = 20_000
PARAMETERS = 200
PATH_CHARS = 500
WEBHOOKS = "#/webhooks"
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a request, wherever it is sent."""

    name: str
    place: str
    raw: dict[str, Any]

    @property
    def is_required(self) -> bool:
        """Whether a request must have it; a part of the path always."""
        return self.place == "path" or self.raw.get("required") is True

    @property
    def schema(self) -> Any:
        """Its schema, which may stand below a media type."""
        contents = [mapping(content) for content in mapping(self.raw.get("content")).values()]
        return self.raw.get("schema", contents[0].get("schema") if contents else {})


@dataclass(frozen=True)
class ApiEndpoint:
    """One operation of a document."""

    document: ApiDocument = field(repr=False)
    method: str
    path: str
    raw: dict[str, Any] = field(repr=False)
    of_path: dict[str, Any] = field(repr=False)

    @property
    def where(self) -> str:
        """Where it stands, as a pointer."""
        return f"#/paths/{self.path.replace('~', '~0').replace('/', '~1')}/{self.method.lower()}"

    @property
    def name(self) -> str:
        """The request line: method, base path of the server, path."""
        return f"{self.method} {self.full_path}"

    @property
    def full_path(self) -> str:
        """Its path with that of its server before it."""
        base = path_of(self.server)
        return f"{base.rstrip('/')}{self.path}"

    @property
    def operation_id(self) -> str:
        """What the document calls it, if anything."""
        return line(self.raw.get("operationId"), 200)

    @property
    def is_deprecated(self) -> bool:
        """Whether the document advises against it."""
        return self.raw.get("deprecated") is True

    @property
    def tags(self) -> list[str]:
        """What it is grouped by."""
        return [tag for tag in (line(each, 100) for each in texts(self.raw.get("tags"))) if tag]

    @cached_property
    def server(self) -> str:
        """The address before its path, with the defaults of its variables; may be empty or only a path."""
        for holder in (self.raw, self.of_path, self.document.raw):
            if servers := [mapping(server) for server in listing(holder.get("servers"))]:
                return _fill_variables(servers[0])
        return ""

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters: those of its path, unless it says otherwise itself."""
        found: dict[tuple[str, str], Parameter] = {}
        for holder, where in ((self.of_path, f"{self.where} (path)"), (self.raw, self.where)):
            for raw in listing(holder.get("parameters"))[:PARAMETERS]:
                parameter = self.document.resolve(raw, where)
                name, place = line(parameter.get("name"), 200), line(parameter.get("in"), 20)
                if name and place:
                    found[name, place] = Parameter(name, place, parameter)
                elif "$ref" not in mapping(raw):
                    self.document.note(where, "A parameter without name or place was left out.")
        return tuple(found.values())

    @property
    def undeclared(self) -> list[str]:
        """The placeholders of its path that no parameter describes."""
        declared = {parameter.name for parameter in self.parameters if parameter.place == "path"}
        return [name for name in dict.fromkeys(PLACEHOLDER.findall(self.path)) if name not in declared]


def endpoints_of(document: ApiDocument) -> Iterator[ApiEndpoint]:
    """Return every operation of a document, and note what is none."""
    paths = document.raw.get("paths")
    if paths is not None and not isinstance(paths, dict):
        document.note("#/paths", "The paths are not an object; none was read.")
    if document.raw.get("webhooks"):
        document.note(WEBHOOKS, "Webhooks are calls that you receive, not endpoints; they were passed over.")
    left = OPERATIONS
    for path, raw in mapping(paths).items():
        for endpoint in _of_path(document, path, raw):
            if left == 0:
                document.note("#/paths", f"More than {OPERATIONS:,} operations; the rest was left out.")
                return
            left -= 1
            yield endpoint


def _of_path(document: ApiDocument, path: str, raw: Any) -> Iterator[ApiEndpoint]:
    where = f"#/paths/{path}"
    if path.startswith("x-"):
        return
    if not path.startswith("/") or len(path) > PATH_CHARS or line(path, PATH_CHARS) != path:
        document.note(where, f"A path begins with / and is one line of at most {PATH_CHARS} characters; left out.")
        return
    if not isinstance(raw, dict):
        document.note(where, "The path holds no object; it was left out.")
        return
    of_path = {**document.resolve(raw, where), **{key: raw[key] for key in raw if key != "$ref"}}
    methods = {method: of_path[method] for method in METHODS if method in of_path}
    methods |= {name.lower(): other for name, other in mapping(of_path.get("additionalOperations")).items()}
    for method, operation in methods.items():
        if isinstance(operation, dict) and re.fullmatch(r"[a-z-]{1,20}", method):
            yield ApiEndpoint(document, method.upper(), path, operation, of_path)
        else:
            document.note(f"{where}/{method}", "The operation is no object; it was left out.")


def _fill_variables(server: dict[str, Any]) -> str:
    variables = mapping(server.get("variables"))
    url = line(server.get("url"), PATH_CHARS)
    return PLACEHOLDER.sub(lambda found: text(mapping(variables.get(found[1])).get("default")) or found[0], url)


def path_of(url: str) -> str:
    """Return the path of an address, or none where it is no address."""
    try:
        return urlsplit(url).path
    except ValueError:
        return ""

"""The operations of a document: every method of every path, its bodies, and who may call it."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from bigmind.network.addresses import path_in
from knowledge.references.readers.openapi.json_references import ApiDocument
from knowledge.references.readers.openapi.schemas import Schemas
from knowledge.references.readers.openapi.values import line, listing, mapping, prose, text, texts

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
OPERATIONS = 20_000
PARAMETERS = 200
PATH_CHARS = 500
NOT_ENDPOINTS = ("#/webhooks", "#/callbacks")
"""Where a document describes calls that it makes itself."""
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

MEDIA_TYPES = 4
RESPONSES = 40
EXAMPLES = 3
REQUEST_PARTS, SUCCESS_PARTS, FAILURE_PARTS = 300, 200, 40
DESCRIPTION_CHARS = 1_000

NONE = "none"
CHOICES = 10
NAME_CHARS = 100


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
        base = path_in(self.server)
        return f"{base.rstrip('/')}{self.path}"

    @property
    def bases(self) -> tuple[str, ...]:
        """The base paths of all its servers: a request may stand behind each, and be written without it."""
        paths = (path_in(_fill_variables(server)).rstrip("/") for server in self.servers)
        return tuple(dict.fromkeys(path for path in paths if path))

    @property
    def is_whole(self) -> bool:
        """Whether all its parameters and its body could be read."""
        given = [*listing(self.of_path.get("parameters")), *listing(self.raw.get("parameters"))]
        given += [self.raw["requestBody"]] if "requestBody" in self.raw else []
        return (
            "$ref" not in self.raw
            and len(given) <= PARAMETERS
            and all(self.document.resolve(one, self.where) for one in given)
        )

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
        return _fill_variables(self.servers[0]) if self.servers else ""

    @cached_property
    def servers(self) -> list[dict[str, Any]]:
        """The servers of the operation, else of its path, else of the document."""
        for holder in (self.raw, self.of_path, self.document.raw):
            if servers := [mapping(server) for server in listing(holder.get("servers"))]:
                return servers
        return []

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
        document.leave_out("#/paths", "The paths are not an object; none was read.")
    if document.raw.get("webhooks"):
        document.note("#/webhooks", "Webhooks are calls that you receive, not endpoints; they were passed over.")
    left = OPERATIONS
    for path, raw in mapping(paths).items():
        for endpoint in _of_path(document, path, raw):
            if left == 0:
                document.leave_out("#/paths", f"More than {OPERATIONS:,} operations; the rest was left out.")
                return
            left -= 1
            yield endpoint


def _of_path(document: ApiDocument, path: str, raw: Any) -> Iterator[ApiEndpoint]:
    where = f"#/paths/{path}"
    if path.startswith("x-"):
        return
    if not path.startswith("/") or len(path) > PATH_CHARS or line(path, PATH_CHARS) != path:
        document.leave_out(where, f"A path begins with / and is one line of at most {PATH_CHARS} characters; left out.")
        return
    if not isinstance(raw, dict):
        document.leave_out(where, "The path holds no object; it was left out.")
        return
    referred = document.resolve(raw, where)
    if "$ref" in raw and not referred:
        document.lists_all = False
    of_path = {**referred, **{key: raw[key] for key in raw if key != "$ref"}}
    methods = {method: of_path[method] for method in METHODS if method in of_path}
    methods |= {name.lower(): other for name, other in mapping(of_path.get("additionalOperations")).items()}
    for method, operation in methods.items():
        if not isinstance(operation, dict) or not re.fullmatch(r"[a-z-]{1,20}", method):
            document.leave_out(f"{where}/{method}", "The operation is no object; it was left out.")
            continue
        read = document.resolve(operation, f"{where}/{method}")
        if read.get("callbacks"):
            document.note("#/callbacks", "Callbacks are calls that you receive, not endpoints; they were passed over.")
        # Of an operation elsewhere that cannot be read, it is known that there is one, and nothing else.
        yield ApiEndpoint(document, method.upper(), path, read or operation, of_path)


def _fill_variables(server: dict[str, Any]) -> str:
    variables = mapping(server.get("variables"))
    url = line(server.get("url"), PATH_CHARS)
    return PLACEHOLDER.sub(lambda found: text(mapping(variables.get(found[1])).get("default")) or found[0], url)


@dataclass(frozen=True)
class Media:
    """One form in which a body may come, such as `application/json`."""

    name: str
    schema: dict[str, Any]
    examples: dict[str, Any]
    """The examples that the document gives, by name."""


@dataclass(frozen=True)
class Body:
    """The body of a request or a response."""

    description: str
    media: tuple[Media, ...]
    is_required: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it in the words of OpenAPI, its references written out."""
        content = {media.name: {"schema": media.schema} if media.schema else {} for media in self.media}
        required = {"required": True} if self.is_required else {}
        return {"description": self.description, **required, **({"content": content} if content else {})}


def request_of(endpoint: ApiEndpoint, schemas: Schemas) -> Body | None:
    """Return the body that a request has, or None where it has none."""
    if "requestBody" not in endpoint.raw:
        return None
    where = f"{endpoint.where}/requestBody"
    raw = endpoint.document.resolve(endpoint.raw["requestBody"], where)
    description = prose(raw.get("description"), DESCRIPTION_CHARS)
    return Body(description, _media(endpoint, schemas, raw, where, REQUEST_PARTS), raw.get("required") is True)


def responses_of(endpoint: ApiEndpoint, schemas: Schemas) -> dict[str, Body]:
    """Return the answers by status, in the order of the document."""
    found: dict[str, Body] = {}
    for status, given in list(mapping(endpoint.raw.get("responses")).items())[:RESPONSES]:
        where = f"{endpoint.where}/responses/{status}"
        raw = endpoint.document.resolve(given, where)
        parts = SUCCESS_PARTS if status.startswith("2") else FAILURE_PARTS
        description = prose(raw.get("description"), DESCRIPTION_CHARS)
        if not status.startswith("x-"):
            found[line(status, 20)] = Body(description, _media(endpoint, schemas, raw, where, parts))
    return found


def _media(endpoint: ApiEndpoint, schemas: Schemas, raw: dict[str, Any], where: str, parts: int) -> tuple[Media, ...]:
    found = []
    for name, given in list(mapping(raw.get("content")).items())[:MEDIA_TYPES]:
        media = endpoint.document.resolve(given, where)
        schema = schemas.write_out(media["schema"], where, parts=parts) if media.get("schema") else {}
        found.append(Media(line(name, 100), schema, _examples(endpoint, media, where)))
    return tuple(found)


def _examples(endpoint: ApiEndpoint, media: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the examples of a media type, or else the one of its schema."""
    if "example" in media:
        return {"": media["example"]}
    named = {}
    for name, given in list(mapping(media.get("examples")).items())[:EXAMPLES]:
        example = endpoint.document.resolve(given, where)
        if "value" in example or "dataValue" in example:
            named[line(name, 100)] = example.get("value", example.get("dataValue"))
    if named:
        return named
    schema = endpoint.document.resolve(media.get("schema"), where)
    if "example" in schema:
        return {"": schema["example"]}
    return {"": given[0]} if (given := listing(schema.get("examples"))) else {}


class Credentials(NamedTuple):
    """What a request shows about its sender: arguments of curl, and a part of the query."""

    arguments: tuple[str, ...] = ()
    query: tuple[str, ...] = ()


def security_of(endpoint: ApiEndpoint) -> tuple[str, ...]:
    """Return what suffices to call it, each choice in words: `token (HTTP bearer)`, `oauth (read, write)`, `none`."""
    return tuple(dict.fromkeys(_in_words(endpoint, choice) for choice in _requirements(endpoint)))


def credentials_for(endpoint: ApiEndpoint) -> Credentials:
    """Return what the first choice asks of a request, with variables of the shell in place of secrets."""
    requirements = _requirements(endpoint)
    arguments, query = list[str](), list[str]()
    for name in requirements[0] if requirements else ():
        scheme = _scheme(endpoint, name)
        kind, header = text(scheme.get("type")).lower(), line(scheme.get("name"), NAME_CHARS)
        is_basic = kind == "basic" or text(scheme.get("scheme")).lower() == "basic"
        if is_basic:
            arguments.append('-u "$USER:$PASSWORD"')
        elif kind in {"http", "oauth2", "openidconnect"}:
            arguments.append('-H "Authorization: Bearer $TOKEN"')
        elif kind == "apikey" and scheme.get("in") == "query":
            query.append(header)
        elif kind == "apikey":
            option = "-b" if scheme.get("in") == "cookie" else "-H"
            sign = "=" if option == "-b" else ": "
            arguments.append(f'{option} {shlex.quote(header + sign)}"$API_KEY"')
    return Credentials(tuple(arguments), tuple(query))


def _requirements(endpoint: ApiEndpoint) -> list[dict[str, Any]]:
    own = endpoint.raw.get("security")
    given = own if isinstance(own, list) else listing(endpoint.document.raw.get("security"))
    return [choice for choice in given[:CHOICES] if isinstance(choice, dict)]


def _scheme(endpoint: ApiEndpoint, name: str) -> dict[str, Any]:
    raw = endpoint.document.raw
    schemes = mapping(mapping(raw.get("components")).get("securitySchemes"))
    return endpoint.document.resolve(schemes.get(name), f"#/components/securitySchemes/{name}")


def _in_words(endpoint: ApiEndpoint, choice: dict[str, Any]) -> str:
    return " and ".join(_scheme_in_words(endpoint, name, scopes) for name, scopes in choice.items()) or NONE


def _scheme_in_words(endpoint: ApiEndpoint, name: str, scopes: Any) -> str:
    scheme = _scheme(endpoint, name)
    kind = text(scheme.get("type"))
    description = {
        "http": f"HTTP {text(scheme.get('scheme'))}".strip(),
        "basic": "HTTP basic",
        "apiKey": f"{text(scheme.get('in'))} {text(scheme.get('name'))}".strip(),
        "oauth2": "OAuth 2",
        "openIdConnect": "OpenID Connect",
        "mutualTLS": "client certificate",
    }.get(kind, kind)
    parts = [part for part in (description, ", ".join(texts(scopes))) if part]
    return line(f"{name} ({'; '.join(parts)})" if parts else name, 300)

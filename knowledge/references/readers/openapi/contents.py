"""The text of an endpoint's reference, and the requests to try in it: the document's own, else one that is made."""

import json
import shlex
from typing import Any
from urllib.parse import quote, urlencode

from bigmind.core.limits import CONTENT_BYTES
from bigmind.text.hygiene import inline
from knowledge.references.readers.openapi.operations import (
    PLACEHOLDER,
    ApiEndpoint,
    Body,
    Media,
    Parameter,
    credentials_for,
    security_of,
)
from knowledge.references.readers.openapi.schemas import Outlines, Schemas, about, code, kind_in_words
from knowledge.references.readers.openapi.values import as_json, line, listing, mapping, prose, shorten, texts
from knowledge.references.readers.reference_drafts import Example

DESCRIPTION_CHARS = 8_000
PARAMETER_PARTS = 20
REQUEST_LINES, REQUEST_DEPTH = 100, 4
RESPONSE_LINES, RESPONSE_DEPTH = 60, 2
TABLE = ("| name | in | type | required | meaning |", "|---|---|---|---|---|")
UNDECLARED = "The document does not describe it."
ENDING = "\n\n… The rest is in the document."

MADE = "Made from the parameters: put in your own values."
MADE_WITH_BODY = "Made from the parameters and the schema of the body: put in your own values."
OUTPUT_CHARS = 4_000
BODY_CHARS = 4_000
FIELDS = 12
DEPTH = 4
BY_FORMAT = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "ada@example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com",
    "url": "https://example.com",
    "ipv4": "192.0.2.1",
}


def content_of(
    endpoint: ApiEndpoint, schemas: Schemas, outlines: Outlines, request: Body | None, responses: dict[str, Body]
) -> str:
    """Return what an endpoint is, what it takes and what it answers."""
    parts = [
        code(endpoint.name),
        "**Deprecated.**" if endpoint.is_deprecated else "",
        prose(endpoint.raw.get("description") or endpoint.of_path.get("description"), DESCRIPTION_CHARS),
        _facts(endpoint),
        _parameters(endpoint, schemas),
        _request(request, outlines) if request else "",
        _responses(responses, outlines),
    ]
    return _within_limit("\n\n".join(part for part in parts if part))


def _facts(endpoint: ApiEndpoint) -> str:
    security = security_of(endpoint)
    facts = [f"**Server:** {code(endpoint.server)}"] if endpoint.server else []
    facts += [f"**Authentication:** {' or '.join(map(inline, security))}"] if security else []
    return "  \n".join(facts)


def _parameters(endpoint: ApiEndpoint, schemas: Schemas) -> str:
    rows = [_row(endpoint, schemas, parameter) for parameter in endpoint.parameters]
    rows += [f"| {code(name)} | path | any | yes | {UNDECLARED} |" for name in endpoint.undeclared]
    if not rows:
        return ""
    return "\n".join(["### Parameters", "", *TABLE, *rows])


def _row(endpoint: ApiEndpoint, schemas: Schemas, parameter: Parameter) -> str:
    schema = schemas.write_out(parameter.schema or parameter.raw, endpoint.where, parts=PARAMETER_PARTS)
    described = line(parameter.raw.get("description"), 500)
    meaning = about({**schema, "deprecated": parameter.raw.get("deprecated")}, described)
    required = "yes" if parameter.is_required else "no"
    cells = [code(parameter.name), inline(parameter.place), kind_in_words(schema), required, meaning]
    return f"| {' | '.join(cells)} |"


def _request(request: Body, outlines: Outlines) -> str:
    heading = "### Request body" + (" (required)" if request.is_required else "")
    parts = [heading, request.description]
    for media in request.media:
        parts.append(f"{code(media.name)}: {kind_in_words(media.schema)}")
        parts.append(outlines.of(media.schema, lines=REQUEST_LINES, depth=REQUEST_DEPTH, is_sent=True))
    return "\n\n".join(part for part in _each_once(parts) if part)


def _responses(responses: dict[str, Body], outlines: Outlines) -> str:
    parts = ["### Responses"] if responses else []
    for status, body in responses.items():
        kinds = ", ".join(f"{code(media.name)}: {kind_in_words(media.schema)}" for media in body.media)
        described = inline(line(body.description, 500))
        parts.append(f"**{inline(status)}** {' · '.join(part for part in (described, kinds) if part)}".rstrip())
        if status.startswith("2"):
            parts += _outline(body.media, outlines)
    return "\n\n".join(parts)


def _outline(media: tuple[Media, ...], outlines: Outlines) -> list[str]:
    outlined = [outlines.of(one.schema, lines=RESPONSE_LINES, depth=RESPONSE_DEPTH, is_sent=False) for one in media]
    return [part for part in _each_once(outlined) if part]


def _each_once(parts: list[str]) -> list[str]:
    """Several media types mostly have one schema."""
    return list(dict.fromkeys(parts))


def _within_limit(content: str) -> str:
    raw = content.encode()
    if len(raw) <= CONTENT_BYTES:
        return content
    head = raw[: CONTENT_BYTES - len(ENDING.encode())].decode(errors="ignore")
    return head.rpartition("\n")[0] + ENDING


def examples_of(endpoint: ApiEndpoint, request: Body | None, responses: dict[str, Body]) -> tuple[Example, ...]:
    """Return the examples of an endpoint: one for each body that the document gives, or one that is made."""
    answers = _answers(responses)
    media = request.media[0] if request and request.media else None
    if media is None:
        return (Example(description=MADE, code=_curl(endpoint, None, None), output=_output(answers, "")),)
    if not media.examples:
        body = sample_value(media.schema)
        return (Example(description=MADE_WITH_BODY, code=_curl(endpoint, media, body), output=_output(answers, "")),)
    return tuple(
        Example(
            description=name.replace("-", " ").replace("_", " ") or "The example of the document.",
            code=_curl(endpoint, media, body),
            output=_output(answers, name),
        )
        for name, body in media.examples.items()
    )


def _answers(responses: dict[str, Body]) -> dict[str, Any]:
    """The examples of the first answer that tells of success."""
    for status, body in responses.items():
        if status.startswith("2"):
            return next((media.examples for media in body.media if media.examples), {})
    return {}


def _output(answers: dict[str, Any], name: str) -> str:
    if not answers:
        return ""
    answer = answers.get(name, next(iter(answers.values())))
    return shorten(answer, OUTPUT_CHARS) if isinstance(answer, str) else as_json(answer, OUTPUT_CHARS)


def _curl(endpoint: ApiEndpoint, media: Media | None, body: Any) -> str:
    credentials = credentials_for(endpoint)
    method = "" if endpoint.method == "GET" else f"-X {endpoint.method} "
    arguments = [f"curl {method}{_address(endpoint)}", *credentials.arguments]
    for parameter in endpoint.parameters:
        if parameter.place == "header" and parameter.is_required:
            arguments.append(f"-H {shlex.quote(f'{parameter.name}: {_plain(_value_of(endpoint, parameter))}')}")
    if media:
        arguments += _body_arguments(media, body)
    return " \\\n  ".join(arguments)


def _address(endpoint: ApiEndpoint) -> str:
    values = {each.name: _value_of(endpoint, each) for each in endpoint.parameters if each.place == "path"}
    path = PLACEHOLDER.sub(lambda found: _plain(values.get(found[1], _word(found[1]))), endpoint.path)
    parameter_values = {
        each.name: _plain(_value_of(endpoint, each))
        for each in endpoint.parameters
        if each.place == "query" and each.is_required
    }
    parameter_values.update(dict.fromkeys(credentials_for(endpoint).query, "API_KEY"))
    rest = quote(path, safe="/:@,;=+()") + (f"?{urlencode(parameter_values)}" if parameter_values else "")
    if "://" in endpoint.server:
        return shlex.quote(f"{endpoint.server.rstrip('/')}{rest}")
    return f'"$BASE_URL{quote(endpoint.server.rstrip("/"), safe="/")}{rest}"'


def _body_arguments(media: Media, body: Any) -> list[str]:
    if "multipart/" in media.name:
        return [f"-F {shlex.quote(f'{name}={_plain(value)}')}" for name, value in mapping(body).items()]
    if "form-urlencoded" in media.name:
        fields = mapping(body).items()
        return [f"--data-urlencode {shlex.quote(f'{name}={_plain(value)}')}" for name, value in fields]
    content = f"-H {shlex.quote(f'Content-Type: {media.name}')}"
    if "json" not in media.name and not isinstance(body, dict | list):
        return [content, "--data-binary @FILE" if not isinstance(body, str) else f"-d {shlex.quote(body)}"]
    return [content, f"-d {shlex.quote(as_json(body, BODY_CHARS))}"]


def _value_of(endpoint: ApiEndpoint, parameter: Parameter) -> Any:
    raw = parameter.raw
    if "example" in raw:
        return raw["example"]
    for given in mapping(raw.get("examples")).values():
        example = endpoint.document.resolve(given, endpoint.where)
        if "value" in example:
            return example["value"]
    # Swagger 2 has the type in the parameter itself.
    schema = endpoint.document.resolve(parameter.schema or raw, endpoint.where)
    value = sample_value({key: schema[key] for key in schema if key not in {"properties", "required"}})
    return _word(parameter.name) if value in ("", "string", None) else value


def sample_value(schema: Any, depth: int = DEPTH) -> Any:
    """Return a value that a schema allows, as far as its outline tells: given values first, required fields only."""
    node = mapping(schema)
    for key in ("example", "const", "default"):
        if node.get(key) is not None:
            return node[key]
    if enum := listing(node.get("enum")):
        return enum[0]
    for key in ("oneOf", "anyOf"):
        if choices := listing(node.get(key)):
            return sample_value(choices[0], depth - 1)
    kind = node.get("type")
    kinds = [kind] if isinstance(kind, str) else texts(kind)
    if "object" in kinds or "properties" in node:
        return _sample_object(node, depth) if depth > 0 else {}
    if "array" in kinds or "items" in node:
        return [sample_value(node.get("items"), depth - 1)] if depth > 0 else []
    plain = {"integer": 1, "number": 1.0, "boolean": True, "null": None}
    for kind in kinds:
        if kind in plain:
            low = node.get("minimum")
            return low if kind in {"integer", "number"} and isinstance(low, int | float) and low > 1 else plain[kind]
    return BY_FORMAT.get(str(node.get("format")), "string") if kinds else {}


def _sample_object(node: dict[str, Any], depth: int) -> dict[str, Any]:
    fields = {name: one for name, one in mapping(node.get("properties")).items() if not one.get("readOnly")}
    required = [name for name in texts(node.get("required")) if name in fields] or list(fields)
    return {name: sample_value(fields[name], depth - 1) for name in required[:FIELDS]}


def _word(name: str) -> str:
    return "_".join(part for part in PLACEHOLDER.sub(r"\1", name).upper().replace("-", "_").split() if part)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return line(value, 500)
    if isinstance(value, list):
        return ",".join(_plain(item) for item in value[:10])
    return shorten(json.dumps(value, ensure_ascii=False), 500)

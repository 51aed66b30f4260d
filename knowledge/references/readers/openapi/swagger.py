"""Swagger 2.0 documents, converted to OpenAPI 3: bodies, types, servers and security."""

from typing import Any

from knowledge.references.readers.openapi.json_references import ApiDocument
from knowledge.references.readers.openapi.values import listing, mapping, text, texts

JSON = "application/json"
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
SCHEMA_WORDS = (
    *("type", "format", "items", "default", "enum", "pattern", "minimum", "maximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf"),
)


def as_openapi(document: ApiDocument) -> dict[str, Any]:
    """Return a document as OpenAPI 3.0 has it; `#/definitions/…` stays where it is and is found there."""
    raw = document.raw
    paths = {path: _path(document, item) for path, item in mapping(raw.get("paths")).items()}
    schemes = {name: _scheme(mapping(one)) for name, one in mapping(raw.get("securityDefinitions")).items()}
    return {
        **raw,
        "openapi": "3.0.3",
        "servers": _servers(raw),
        "paths": paths,
        "components": {"securitySchemes": schemes},
    }


def _servers(raw: dict[str, Any]) -> list[dict[str, str]]:
    host, base = text(raw.get("host")), text(raw.get("basePath")).rstrip("/")
    schemes = texts(raw.get("schemes"))
    scheme = "https" if "https" in schemes or not schemes else schemes[0]
    address = f"{scheme}://{host}{base}" if host else base
    return [{"url": address}] if address else []


def _path(document: ApiDocument, item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    item = document.resolve(item, "#/paths") or item
    shared = listing(item.get("parameters"))
    methods = {
        name: _operation(document, document.resolve(item[name], f"#/paths ({name})") or item[name], shared)
        for name in METHODS
        if isinstance(item.get(name), dict)
    }
    return {**item, "parameters": _parameters(document, shared), **methods}


def _operation(document: ApiDocument, operation: dict[str, Any], shared: list[Any]) -> dict[str, Any]:
    raw = document.raw
    given = [document.resolve(one, "#/parameters") for one in (*shared, *listing(operation.get("parameters")))]
    takes = texts(operation.get("consumes", raw.get("consumes"))) or [JSON]
    gives = texts(operation.get("produces", raw.get("produces"))) or [JSON]
    own = _parameters(document, listing(operation.get("parameters")))
    answers = {status: _answer(raw, one, gives) for status, one in mapping(operation.get("responses")).items()}
    converted = {**operation, "parameters": own, "responses": answers}
    body = _body(given, takes)
    return {**converted, "requestBody": body} if body else converted


def _parameters(document: ApiDocument, given: list[Any]) -> list[Any]:
    """Return parameters with their references followed: some are bodies, and have the type beside the name."""
    followed = [document.resolve(one, "#/parameters") or one for one in given]
    return [converted for one in followed if (converted := _parameter(one))]


def _parameter(parameter: Any) -> Any:
    """What is no body has its type in a schema; Swagger 2 has it beside the name."""
    raw = mapping(parameter)
    if raw.get("in") in {"body", "formData"}:
        return None
    if "$ref" in raw or "type" not in raw:
        return parameter
    return {**raw, "schema": {word: raw[word] for word in SCHEMA_WORDS if word in raw}}


def _body(given: list[dict[str, Any]], takes: list[str]) -> dict[str, Any] | None:
    for one in given:
        if one.get("in") == "body":
            content = {name: {"schema": one.get("schema", {})} for name in takes}
            required = one.get("required") is True
            return {"description": one.get("description", ""), "required": required, "content": content}
    fields = [one for one in given if one.get("in") == "formData" and isinstance(one.get("name"), str)]
    if not fields:
        return None
    properties = {
        one["name"]: {word: one[word] for word in (*SCHEMA_WORDS, "description") if word in one} for one in fields
    }
    mandatory = [one["name"] for one in fields if one.get("required") is True]
    has_file = any(one.get("type") == "file" for one in fields)
    schema = {"type": "object", "properties": properties, "required": mandatory}
    return {"content": {MULTIPART if has_file or MULTIPART in takes else FORM: {"schema": schema}}}


def _answer(raw: dict[str, Any], answer: Any, gives: list[str]) -> Any:
    pointer = mapping(answer).get("$ref")
    if isinstance(pointer, str) and pointer.startswith("#/responses/"):
        answer = mapping(raw.get("responses")).get(pointer.removeprefix("#/responses/"), answer)
    converted, examples = mapping(answer), mapping(mapping(answer).get("examples"))
    if "schema" not in converted and not examples:
        return answer
    media = {name: {"schema": converted.get("schema", {})} for name in gives}
    for name, example in examples.items():
        media[name] = {**media.get(name, {"schema": converted.get("schema", {})}), "example": example}
    return {**converted, "content": media}


def _scheme(scheme: dict[str, Any]) -> dict[str, Any]:
    return {"type": "http", "scheme": "basic"} if scheme.get("type") == "basic" else scheme

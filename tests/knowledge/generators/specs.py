"""OpenAPI documents made for tests: small ones to look at, large ones to work through."""

import json
from typing import Any

from knowledge.references.readers.openapi import generate
from knowledge.references.readers.reference_drafts import Generated, ReferenceDraft
from knowledge.references.readers.registry import Source

METHODS = ("get", "put", "patch", "delete", "post")


def document(paths: dict[str, Any] | None = None, **others: Any) -> dict[str, Any]:
    """Return an OpenAPI document with these paths."""
    return {"openapi": "3.1.0", "info": {"title": "Users", "version": "1.2"}, "paths": paths or {}, **others}


def generated_from(raw: object, name: str = "openapi.json") -> Generated:
    """Return what is made of a document, given as a value or as text."""
    text = raw if isinstance(raw, str) else json.dumps(raw)
    return generate(Source(name, text.encode()))


def reference_to(operation: dict[str, Any], path: str = "/users/{id}", **others: Any) -> ReferenceDraft:
    """Return the one reference made of one operation."""
    (draft,) = generated_from(document({path: {"get": operation}}, **others)).drafts
    return draft


def large_document(operations: int, *, schemas: int = 100, fields: int = 15) -> dict[str, Any]:
    """Return a document with so many operations, whose deep schemas are shared and refer to one another in circles."""
    resources = range(operations // len(METHODS))
    paths = {f"/v1/resources{number}/{{id}}": _methods(number, number % schemas) for number in resources}
    return document(
        paths, components={"schemas": {f"S{each}": _schema(each, schemas, fields) for each in range(schemas)}}
    )


def _methods(number: int, schema: int) -> dict[str, Any]:
    body = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/S{schema}"}}}}
    operation = {
        "tags": [f"group {number % 20}"],
        "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
        "responses": {"200": {"description": "Done.", **body}, "404": {"description": "There is none."}},
    }
    methods = {method: {**operation, "operationId": f"{method}Resource{number}"} for method in METHODS}
    return {method: {**one, **({"requestBody": body} if method != "get" else {})} for method, one in methods.items()}


def _schema(number: int, schemas: int, fields: int) -> dict[str, Any]:
    plain = {f"field{each}": {"type": "string", "description": f"Field {each}."} for each in range(fields)}
    others = {f"to{step}": {"$ref": f"#/components/schemas/S{(number * step + step) % schemas}"} for step in (1, 2, 3)}
    return {"type": "object", "properties": {**plain, **others}}

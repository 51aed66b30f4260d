"""Outlines: what a tool takes and returns, in the words an agent needs and no more.

A client carries the list of tools through every conversation. So the schemas leave out what only a validator reads:
the gate fills in every default, checks every limit and its refusals name them, and `/api/v1/openapi.json` has all of
it. What they say is true.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

FOR_VALIDATORS = frozenset(
    {"additionalProperties", "default", "examples", "format", "maximum", "maxItems", "maxLength", "minimum", "minItems"}
    | {"minLength", "pattern"}
)
SELF_EXPLAINING = frozenset(
    {
        "before",
        "confidence",
        "cursor",
        "despite",
        "evidence",
        "fact_id",
        "limit",
        "next_steps",
        "offset",
        "project",
        "source_session",
    }
    | {"arguments", "max_tokens", "misleading", "query", "since", "superseded", "supersedes", "text", "topics"}
    | {"valid_from", "valid_until"}
)
CHOSEN_ELSEWHERE = frozenset({"category"})
"""Choices that stand in the call that stores it, where they are required: to narrow by one, nobody needs them again."""


def outline_of_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's arguments without limits, which the descriptions and the refusals tell."""
    return {"type": "object", "properties": {}, **_argument("", schema)}


def outline_of_reply(shape: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a reply: the properties that always have one type, and nothing below them.

    Others may come too, such as those that can be null; leaving them out keeps the schema true.
    """
    schema = shape.model_json_schema(mode="serialization")
    types = {name: _type(part, schema.get("$defs", {})) for name, part in schema.get("properties", {}).items()}
    # Most are texts, so only what is something else says its type.
    properties = {
        name: {} if kind == "string" else {"type": kind}
        for name, kind in types.items()
        if kind and name not in SELF_EXPLAINING
    }
    return {"type": "object", "properties": properties}


def _argument(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key not in FOR_VALIDATORS}
    if name in SELF_EXPLAINING:
        kept.pop("description", None)
    if "items" in kept:
        kept["items"] = _argument("", kept["items"])
    if "properties" in kept:
        kept["properties"] = {inner: _argument(inner, part) for inner, part in kept["properties"].items()}
        for inner in CHOSEN_ELSEWHERE & kept["properties"].keys() - set(kept.get("required", ())):
            kept["properties"][inner].pop("enum", None)
    return kept


def _type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str | None:
    if "$ref" in schema:
        return _type(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return schema.get("type")

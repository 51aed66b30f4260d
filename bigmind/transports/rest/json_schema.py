"""JSON Schema of pydantic models for the OpenAPI document: complete, so that what it promises is what happens.

Pydantic writes the limits of its own kind into a schema. What our validators refuse beyond that is added here.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import AfterValidatorFunctionSchema, BeforeValidatorFunctionSchema

from bigmind.core.limits import CONTENT_BYTES
from bigmind.text.hygiene import HIDDEN

Mode = Literal["validation", "serialization"]
_COMPONENT = {"serialization": "#/components/schemas/{model}", "validation": "#/components/schemas/{model}Input"}


def _escape(characters: str) -> str:
    """Write what JSON, JavaScript and Python all read as these characters. JSON has no lone surrogates to name."""
    kept = re.sub("[\ud800-\udfff]-?", "", characters)
    return "".join(char if " " <= char <= "~" or ord(char) > 0xFFFF else f"\\u{ord(char):04x}" for char in kept)


_REFUSED = _escape(HIDDEN["NUL character"] + HIDDEN["control character"])
_NOT_IN_NAMES = _escape("".join(HIDDEN.values())) + r"\n\r\t\u2028\u2029"
_AROUND_NAMES = r"[ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"

CONTENT = f"^[^{_REFUSED}]*$"
WORDS = rf"^[^{_REFUSED}]*[^\s{_REFUSED}][^{_REFUSED}]*$"
NAME = f"^{_AROUND_NAMES}[^{_NOT_IN_NAMES}]*{_AROUND_NAMES}$"
NAME_WITH_WORDS = rf"^{_AROUND_NAMES}[^\s{_NOT_IN_NAMES}][^{_NOT_IN_NAMES}]*{_AROUND_NAMES}$"

LIMITS: dict[str, dict[str, Any]] = {
    "check_content": {"pattern": CONTENT},
    "clean_name": {"pattern": NAME},
    "_not_blank": {"pattern": WORDS},
    "_within_bytes": {"maxLength": CONTENT_BYTES},
}
"""What the validators of `bigmind.core` refuse, by their names. A byte is taken for a character: JSON counts those."""

INSTEAD: dict[str, dict[str, Any]] = {
    "_split_commas": {"type": "string", "description": "The same as a text with commas."},
    "_split_lines": {"type": "string", "description": "The same as a text, one per line."},
    "_join_steps": {"type": "array", "items": {"type": "string"}, "description": "The same as a list of steps."},
}
"""Other forms that a validator accepts for a value, by its name. Limits apply to the converted value."""

ABOUT = ("description", "examples")


class _WithLimits(GenerateJsonSchema):
    """Says what our validators refuse, and leaves out titles, which only repeat the names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def function_after_schema(self, schema: AfterValidatorFunctionSchema) -> JsonSchemaValue:
        function = schema["function"]["function"]
        return {**super().function_after_schema(schema), **LIMITS.get(getattr(function, "__name__", ""), {})}

    def function_before_schema(self, schema: BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        canonical = super().function_before_schema(schema)
        instead = INSTEAD.get(getattr(schema["function"]["function"], "__name__", ""))
        return {"anyOf": [canonical, instead]} if instead and self.mode == "validation" else canonical


def schema_of(model: type[BaseModel], mode: Mode) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a model, and the schemas it refers to by the names of their components.

    A model that is both sent and received is two components: its defaults make them differ. Neither has a title, since
    generators of clients call a class by it before the name of the component: they would find the class named twice,
    drop one of the two, and with it the operations that need it.
    """
    schema = model.model_json_schema(
        by_alias=False, ref_template=_COMPONENT[mode], schema_generator=_WithLimits, mode=mode
    )
    schema = _finish(schema)
    parts = {name: _without_title(part) for name, part in schema.pop("$defs", {}).items()}
    if mode == "validation":
        parts = {f"{name}Input": _with_defaults_in_words(part) for name, part in parts.items()}
    return _without_title(schema), parts


def without_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without its `null`: neither a path nor a query can say null, only leave out."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    if len(choices) == 1:
        return {**choices[0], **rest}
    return {**rest, "anyOf": choices} if choices else rest


def _without_title(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "title"}


def _with_defaults_in_words(schema: dict[str, Any]) -> dict[str, Any]:
    """Say in the description what a part that is left out means.

    openapi-typescript takes whatever has a default, in a component, for something that is always there, as it is in a
    reply: nobody could leave it out of what they send.
    """
    properties = {}
    for name, part in schema.get("properties", {}).items():
        rest = {key: value for key, value in part.items() if key != "default"}
        if part.get("default") not in (None, "", [], {}):
            description = (
                f"{part.get('description', '')} Default: {json.dumps(part['default'], ensure_ascii=False)}.".strip()
            )
            rest = {**rest, "description": description}
        properties[name] = rest
    return {**schema, "properties": properties} if properties else schema


def _finish(node: Any) -> Any:
    """Add what several limits mean together, and leave out defaults that nobody may send.

    A name of at least one character has one that is seen: white space around it is not kept. An empty default stands
    for an argument that was left out, also where a text that is sent must not be empty. An object of which nothing is
    said may have anything in it, which generators of clients take for nothing unless it is said.
    """
    if isinstance(node, list):
        return [_finish(part) for part in node]
    if not isinstance(node, dict):
        return node
    finished = {key: _finish(part) for key, part in node.items()}
    if "anyOf" in finished:
        finished = _flat(finished)
    if finished.get("type") == "object" and finished.keys().isdisjoint({"properties", "additionalProperties"}):
        finished["additionalProperties"] = True
    if finished.get("pattern") == NAME and finished.get("minLength"):
        finished["pattern"] = NAME_WITH_WORDS
    if finished.get("default") == "" and not re.search(finished.get("pattern", ""), ""):
        del finished["default"]
    return finished


def _flat(schema: dict[str, Any]) -> dict[str, Any]:
    """Put the choices of a choice in its place. What it is about is about all of them; its limits are of the first."""
    choices: list[Any] = []
    about: dict[str, Any] = {}
    for part in schema["anyOf"]:
        if "anyOf" not in part:
            choices.append(part)
            continue
        about |= {key: part[key] for key in ABOUT if key in part}
        first, *others = part["anyOf"]
        limits = {key: value for key, value in part.items() if key not in {"anyOf", *ABOUT}}
        choices += [{**limits, **first}, *others]
    return {**about, **schema, "anyOf": choices}

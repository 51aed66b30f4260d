"""Operations: plain functions whose signature is the schema and whose docstring is the description.

This is the one piece of reflection in BigMind. `Operation` reads the keyword-only arguments of a service function and
builds a pydantic model from them; MCP, REST, the command line and the generated documents all loop over operations.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import ErrorDetails

from bigmind.core.errors import Invalid
from bigmind.core.forgiving import forgive
from bigmind.core.limits import find_json_problem
from bigmind.core.screening import redact
from bigmind.core.screening.policy import arriving


class Effect(StrEnum):
    """What an operation does to what is stored."""

    READ = "read"
    WRITE = "write"
    DESTROY = "destroy"


_EFFECT_OF_METHOD = {"GET": Effect.READ, "DELETE": Effect.DESTROY}


@dataclass(frozen=True, eq=False)
class Operation:
    """One thing BigMind can do, with everything a transport needs to offer it.

    Attributes:
        name: The name of the MCP tool and of the operation in REST and on the command line.
        call: The service function: `call(actor, *, …)`. Its keyword-only arguments are what a caller may send.
        shape: The pydantic model of the reply, read from the attributes of what `call` returns.
        route: REST method and path below `/api/v1/`; arguments in braces are taken from the path.
        toolset: The group of tools to which it belongs.
        in_core: Whether the toolset `core` lists it too.
        with_core: Whether a key that is limited to `core` may call it, though `core` does not list it.
        template: The markdown template below `templates/agent/` that renders the reply for an agent.
        other_effect: What it does where that is not what its method says, such as a POST that only reads.
        scope: The scope a key needs. Default: `read` or `write`, depending on the effect.
        idempotent: Whether repeating it with the same arguments has no further effect.
        is_slow: Whether it searches, or reads or writes much: such calls wait for each other, and hold up no others.
        performs_others: Whether a call may name another operation, which is then performed in its place.
    """

    name: str
    call: Callable[..., Any]
    shape: type[BaseModel]
    route: str
    toolset: str
    template: str
    title: str
    other_effect: Effect | None = None
    scope: str = ""
    idempotent: bool = False
    in_core: bool = False
    with_core: bool = False
    is_slow: bool = False
    performs_others: bool = False

    def __post_init__(self) -> None:
        if not self.scope:
            object.__setattr__(self, "scope", "read" if self.effect is Effect.READ else "write")

    @property
    def method(self) -> str:
        """The HTTP method of the REST route."""
        return self.route.partition(" ")[0]

    @property
    def effect(self) -> Effect:
        """Whether it reads, writes or destroys: what the method says, unless the row says something else."""
        return self.other_effect or _EFFECT_OF_METHOD.get(self.method, Effect.WRITE)

    @property
    def path(self) -> str:
        """The path of the REST route, below `/api/v1/`."""
        return self.route.partition(" ")[2]

    @property
    def toolsets(self) -> frozenset[str]:
        """The toolsets of which a limited key needs one to call it."""
        return frozenset({self.toolset, "core"} if self.in_core or self.with_core else {self.toolset})

    def is_listed_in(self, toolsets: Collection[str]) -> bool:
        """Return whether one of these toolsets lists it; `all` lists everything."""
        return self.toolset in toolsets or (self.in_core and "core" in toolsets) or "all" in toolsets

    @cached_property
    def description(self) -> str:
        """The docstring of the function: what happens, when to call it, what comes back."""
        return inspect.cleandoc(self.call.__doc__ or "")

    @property
    def arguments(self) -> type[BaseModel]:
        """The pydantic model of the arguments."""
        return arguments_of(self.call)

    def accept(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Check and convert arguments from outside.

        Raises:
            Invalid: naming each field that is wrong, the limit, and what was seen.
        """
        return validate_arguments(self.call, arguments)

    def forgive(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Convert arguments whose meaning is clear to the form that the schema asks for.

        Raises:
            Invalid: a handle names another kind than the argument takes, or a text that looks like JSON is not valid.
        """
        return forgive(self.arguments, self.input_schema, arguments)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, in few words. It is made once, and shared: nobody changes it."""
        return compact(self.arguments.model_json_schema())

    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of the reply, in full."""
        return compact(self.shape.model_json_schema(mode="serialization"))


# pydantic quotes the input in its errors, and tracebacks reach the log: the input may be a secret.
_CONFIG = ConfigDict(extra="forbid", str_max_length=None, hide_input_in_errors=True)


@cache
def arguments_of(call: Callable[..., Any]) -> type[BaseModel]:
    """Return a pydantic model of the keyword-only arguments of a function. The model refuses unknown arguments."""
    # `eval_str` resolves annotations that are strings, as under `from __future__ import annotations`.
    signature = inspect.signature(call, eval_str=True)
    fields: dict[str, Any] = {
        name: (parameter.annotation, ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in signature.parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    name = "".join(word.title() for word in call.__name__.split("_"))
    return create_model(name, __config__=_CONFIG, **fields)


def validate_arguments(call: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return `arguments` converted to the types of the function. Arguments that were not sent are left out.

    They are left out so that the defaults in the function's signature are the only ones.

    Raises:
        Invalid: naming each field that is wrong, the limit, and what was seen.
    """
    model = arguments_of(call)
    _refuse_invalid_json(arguments)
    try:
        with arriving():
            checked = model.model_validate(dict(arguments))
    except ValidationError as error:
        raise refusal(error, model) from error
    return {name: getattr(checked, name) for name in checked.model_fields_set}


def _refuse_invalid_json(arguments: Mapping[str, Any]) -> None:
    # REST parses its body strictly. MCP and the pages hand over whatever Python's parser accepts, NaN included.
    problems = [
        {"field": _printable(found[0]), "message": found[1]}
        for name, argument in arguments.items()
        if isinstance(argument, dict | list) and (found := find_json_problem(argument, name))
    ]
    if problems:
        raise Invalid.of_all(problems)


def carry_out(call: Callable[..., Any], actor: Any, arguments: Mapping[str, Any]) -> Any:
    """Check `arguments` and call the function with them: how a page performs an operation.

    Raises:
        BigMindError: the arguments are wrong, or the operation refuses.
    """
    return call(actor, **validate_arguments(call, arguments))


def refusal(error: ValidationError, model: type[BaseModel]) -> Invalid:
    """Return one refusal for all errors of pydantic: every field, its limit and the value's size.

    Of an argument that is missing it says what the schema says, which may be where to find it.
    """
    # A list of 10,000 wrong items gives 10,000 errors. Twenty are enough to find the mistake.
    fields, shown = model.model_fields, error.errors(include_url=False)[:20]
    problems = [_problem(found, list(fields)) for found in shown]
    missing = {str(found["loc"][0]): found for found in shown if found["type"] == "missing" and len(found["loc"]) == 1}
    known = {name: fields[name].description for name in missing if name in fields}
    hint = " ".join(f"{name}: {description}" for name, description in known.items() if description)
    return Invalid.of_all(problems, hint=hint)


PHRASES: dict[str, str] = {
    "missing": "is required",
    "string_type": "must be a text",
    "string_too_long": "is {seen} characters; the limit is {max_length}. Shorten it",
    "string_pattern_mismatch": "is not written as it has to be: {pattern}",
    "string_too_short": "must have at least {min_length} character(s)",
    "too_long": "has {seen} items; the limit is {max_length}",
    "too_short": "must have at least {min_length} item(s)",
    "literal_error": "must be one of: {expected}",
    "greater_than_equal": "must be {ge:g} or more",
    "less_than_equal": "must be {le:g} or less",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "uuid_parsing": "is not an id of this kind (a UUID)",
    "uuid_type": "is not an id of this kind (a UUID)",
    "datetime_from_date_parsing": "must be a moment such as 2026-03-30T09:15:00Z",
    "datetime_type": "must be a moment such as 2026-03-30T09:15:00Z",
    "datetime_parsing": "must be a moment such as 2026-03-30T09:15:00Z",
}


def _problem(found: ErrorDetails, known: list[str]) -> dict[str, Any]:
    field = ".".join(str(part) for part in found["loc"]) or "arguments"
    if found["type"] == "extra_forbidden":
        return {"field": _printable(field), "message": f"is not an argument here. Known: {', '.join(known) or 'none'}"}
    context = dict(found.get("ctx", {}))
    message = str(context.pop("error")) if found["type"] == "value_error" else _phrase(found)
    limits = {name: value for name, value in context.items() if isinstance(value, str | int | float)}
    return {"field": _printable(field), "message": message, **limits}


def _phrase(found: ErrorDetails) -> str:
    """Return our own wording for an error, or pydantic's where we have none."""
    kind = found["type"]
    # After a validator, pydantic reports the length of a text with the error type for lists.
    if isinstance(found["input"], str) and kind in {"too_long", "too_short"}:
        kind = f"string_{kind}"
    phrase = PHRASES.get(kind)
    if phrase is None:
        return found["msg"].removesuffix(".")
    seen = len(found["input"]) if isinstance(found["input"], str | list) else ""
    return phrase.format(seen=seen, **found.get("ctx", {}))


def _printable(field: str) -> str:
    """Return a short, printable part of an argument's name. Unknown names come from outside, and may hold a secret."""
    return "".join(char if char.isprintable() else "?" for char in redact(field[:1000])[:100])


def compact(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an equivalent, shorter schema: no titles, no `null` alternatives, definitions inlined.

    An agent pays for each word of a tool's schema in every conversation. A `null` for an optional argument is still
    accepted; the schema just does not advertise it.
    """
    definitions: dict[str, Any] = schema.get("$defs", {})
    body = {key: value for key, value in schema.items() if key != "$defs"}
    return cast("dict[str, Any]", _compact(body, definitions))


def _compact(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_compact(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return _compact({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    if "anyOf" in node:
        choices = [choice for choice in node["anyOf"] if choice != {"type": "null"}]
        rest = {key: value for key, value in node.items() if key not in {"anyOf", "default"} or value is not None}
        if len(choices) == 1:
            return _compact({**choices[0], **{k: v for k, v in rest.items() if k != "anyOf"}}, definitions)
        node = {**rest, "anyOf": choices}
    kept = {key: value for key, value in node.items() if not (key == "title" and isinstance(value, str))}
    # The keys of `properties` are names of arguments: one called “title” must survive, so they are handled apart.
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {name: _compact(value, definitions) for name, value in kept["properties"].items()}
        return {key: value if key == "properties" else _compact(value, definitions) for key, value in kept.items()}
    return {key: _compact(value, definitions) for key, value in kept.items()}

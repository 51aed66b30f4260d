"""Operations: plain functions whose signature is the schema and whose docstring is the description.

This is the one piece of reflection in BigMind. `Operation` reads the keyword-only arguments of a service function and
builds a pydantic model from them; MCP, REST, the command line and the generated documents all loop over operations.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, cast

from pydantic import BaseModel

from bigmind.core.argument_checks import arguments_of, validate_arguments
from bigmind.core.argument_conversion import forgive


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

    @cached_property
    def effect(self) -> Effect:
        """Whether it reads, writes or destroys: what the method says, unless the row says something else."""
        return self.other_effect or _EFFECT_OF_METHOD.get(self.method, Effect.WRITE)

    @property
    def path(self) -> str:
        """The path of the REST route, below `/api/v1/`."""
        return self.route.partition(" ")[2]

    @cached_property
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
        return forgive(self.arguments, self.input_schema, arguments, with_session=self.effect is Effect.WRITE)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, in few words. It is made once, and shared: nobody changes it."""
        return compact(self.arguments.model_json_schema())

    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of the reply, in full."""
        return compact(self.shape.model_json_schema(mode="serialization"))


def carry_out(call: Callable[..., Any], actor: Any, arguments: Mapping[str, Any]) -> Any:
    """Check `arguments` and call the function with them: how a page performs an operation.

    Raises:
        BigMindError: the arguments are wrong, or the operation refuses.
    """
    return call(actor, **validate_arguments(call, arguments))


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

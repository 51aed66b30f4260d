"""Shapes of replies, made from the dataclasses that operations return: one class says what comes back."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model


class Shape(BaseModel):
    """A reply, read from the attributes of what a service returns."""

    model_config = ConfigDict(from_attributes=True)


def reply_of(
    result: type[Any], rows: Mapping[Any, Any] | None = None, without: Collection[str] = (), **properties: Any
) -> type[BaseModel]:
    """Return the shape of what an operation returns: each field of the dataclass, and of those within it.

    Args:
        result: The dataclass. Its docstring describes the reply, and `Annotated[…, Field(description=…)]` a field.
        rows: The shapes of what is no plain value, such as rows of the database.
        without: The fields that are for pages alone.
        properties: The types of the properties that are sent as well.
    """
    hints = get_type_hints(result, include_extras=True)
    sent = {
        one.name: _with_shapes(hints[one.name], rows or {}) for one in fields(result) if one.name not in without
    } | properties
    members: dict[str, Any] = {name: (kind, ...) for name, kind in sent.items()}
    return create_model(f"{result.__name__}Shape", __base__=Shape, __doc__=result.__doc__, **members)


def _with_shapes(kind: Any, rows: Mapping[Any, Any]) -> Any:
    """Return the type in which a value of this type is sent."""
    if kind in rows:
        return rows[kind]
    if isinstance(kind, type) and is_dataclass(kind):
        return reply_of(kind, rows)
    origin, within = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return Annotated[(_with_shapes(within[0], rows), *within[1:])]
    if origin in {Union, UnionType}:
        return Union[tuple(_with_shapes(one, rows) for one in within)]  # noqa: UP007 - the types are known only here
    if isinstance(origin, type):
        origin = list if origin is Sequence else origin
        return origin[tuple(one if one is ... else _with_shapes(one, rows) for one in within)]  # type: ignore[index]
    return kind

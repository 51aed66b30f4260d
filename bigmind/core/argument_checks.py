"""Argument checks: what a caller sent, against the signature of a function; all that is wrong is refused at once."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from bigmind.core.errors import Invalid
from bigmind.core.limits import find_json_problem
from bigmind.privacy.screening import drop_private_in, redact
from bigmind.privacy.screening.policy import ARRIVING, add_notice

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
        sent = {name: _without_private(name, value) for name, value in arguments.items()}
        checked = model.model_validate(sent, context=ARRIVING)
    except ValidationError as error:
        raise refusal(error, model) from error
    return {name: getattr(checked, name) for name in checked.model_fields_set}


def _without_private(name: str, sent: Any) -> Any:
    """Return an argument without its private passages, and say how many there were.

    Raises:
        Invalid: nothing but private passages was sent.
    """
    public, passages = drop_private_in(sent)
    if passages and public == "":
        raise Invalid.of(name, "is marked as private from beginning to end", hint="Leave out what is private.")
    if passages:
        add_notice(f"{name} held {passages} passage{'s' * (passages > 1)} marked as private. Nothing of that was kept.")
    return public


def _refuse_invalid_json(arguments: Mapping[str, Any]) -> None:
    # REST parses its body strictly. MCP and the pages hand over whatever Python's parser accepts, NaN included.
    problems = [
        {"field": _printable(found[0]), "message": found[1]}
        for name, argument in arguments.items()
        if argument and isinstance(argument, dict | list) and (found := find_json_problem(argument, name))
    ]
    if problems:
        raise Invalid.of_all(problems)


def refusal(error: ValidationError, model: type[BaseModel]) -> Invalid:
    """Return one refusal for all errors of pydantic: every field, its limit and the value's size.

    Of an argument that is missing it says what the schema says, which may be where to find it.
    """
    # A list of 10,000 wrong items gives 10,000 errors. Twenty are enough to find the mistake.
    fields, shown = model.model_fields, error.errors(include_url=False)[:20]
    problems = [_problem(found, list(fields)) for found in shown]
    missing = {str(found["loc"][0]): found for found in shown if found["type"] == "missing" and len(found["loc"]) == 1}
    known = {name: _describe(fields[name]) for name in missing if name in fields}
    hint = " ".join(f"{name}: {description}" for name, description in known.items() if description)
    return Invalid.of_all(problems, hint=hint)


def _describe(field: FieldInfo) -> str:
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return " ".join(part for part in (field.description, f"one of {', '.join(choices)}." if choices else "") if part)


UNREAD_MOMENT = "is no date that is understood here. Write YYYY-MM-DD, or YYYY-MM-DDThh:mm:ssZ"
"""The example is no value, so nobody takes it for the day that was meant."""
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
    "datetime_from_date_parsing": UNREAD_MOMENT,
    "datetime_type": UNREAD_MOMENT,
    "datetime_parsing": UNREAD_MOMENT,
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
    # Screened before it is cut short: half a secret would not be recognised.
    return "".join(char if char.isprintable() else "?" for char in redact(field[:1000])[:100])

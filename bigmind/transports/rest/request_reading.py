"""What a request says: arguments from its path, its query or its body, in JSON read strictly."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import IO, Any, NoReturn
from urllib.parse import parse_qsl

from django.conf import settings
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from bigmind.core.argument_checks import refusal
from bigmind.core.errors import Invalid
from bigmind.core.limits import JSON_DEPTH, is_too_deep
from bigmind.core.load_once import load_once
from bigmind.core.operations import Operation
from bigmind.transports.rest.problems import MalformedBody, TooLarge
from bigmind.transports.rest.routes import path_parameters

TOO_DEEP = f"The JSON is nested too deep; the limit is {JSON_DEPTH} levels."

MOST_PARAMETERS = 1000
CURRENT = "current"
IN_THE_QUERY = {"GET", "HEAD", "DELETE"}


class StrictJSONParser(BaseParser):
    """Reads a JSON object in UTF-8: each name once, finite numbers, up to 64 levels deep."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the object.

        Raises:
            MalformedBody: it is not such an object.
            TooLarge: there is more of it than the route takes.
        """
        limit = (parser_context or {}).get("body_bytes", settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        # One byte more tells a body that is too long from one that just fits.
        raw = stream.read(limit + 1)
        check_size(len(raw), limit)
        found = read_json(raw)
        if not isinstance(found, dict):
            raise MalformedBody("The body must be a JSON object, such as {}.")
        return found


def check_size(size: int, limit: int) -> None:
    """Refuse a body of more bytes than the limit."""
    if size > limit:
        raise TooLarge(f"The body is {size:,} bytes or more; the limit is {limit:,}.")


def read_json(raw: bytes) -> Any:
    """Read JSON.

    Raises:
        MalformedBody: it is not JSON in UTF-8, has a name twice, is nested too deep, or has a number that is none.
    """
    try:
        found = json.loads(
            raw.decode(), object_pairs_hook=_each_name_once, parse_constant=_not_a_number, parse_float=_finite
        )
    except UnicodeDecodeError as error:
        raise MalformedBody(f"The body is not UTF-8: byte {error.start} cannot be read.") from error
    except RecursionError as error:
        raise MalformedBody(TOO_DEEP) from error
    except json.JSONDecodeError as error:
        raise MalformedBody(f"The body is not JSON: {error}.") from error
    except ValueError as error:  # an integer of more digits than Python converts
        raise MalformedBody("The JSON has a number that is too long.") from error
    if is_too_deep(found):
        raise MalformedBody(TOO_DEEP)
    return found


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
    twice = twice[:100]
    problems = [{"field": twice, "message": "is given more than once"}]
    raise MalformedBody(f"{twice} is given more than once.", problems=problems)


def _not_a_number(name: str) -> NoReturn:
    raise MalformedBody(f"{name} is not JSON. Send a finite number.")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise MalformedBody(f"The number {digits[:50]} is too large.")
    # JSON knows one kind of number: 5.0 is the whole number 5.
    return int(number) if number.is_integer() else number


def arguments_of(operation: Operation, request: Request, path: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments a request carries, unchecked.

    Raises:
        MalformedBody: the query or the body cannot be read, or arguments came in the wrong one of them.
        Invalid: an argument was given more than once.
    """
    sent = _from_query(operation, request) if request.method in IN_THE_QUERY else _from_body(operation, request)
    return {**sent, **_from_path(operation, path, sent)}


def _from_path(operation: Operation, path: Mapping[str, str], sent: Mapping[str, Any]) -> dict[str, str]:
    _refuse([name for name in path if name in sent], "stands in the path already")
    fields = operation.arguments.model_fields
    # The argument that may be left out stands in the path all the same: `current` is its absence.
    return {name: text for name, text in path.items() if text != CURRENT or fields[name].is_required()}


def _from_query(operation: Operation, request: Request) -> dict[str, Any]:
    if request.META.get("CONTENT_LENGTH", "") not in {"", "0"}:
        raise MalformedBody(f"The arguments of {request.method} go into the query; it takes no body.")
    lists = _lists(operation)
    sent: dict[str, list[str]] = {}
    for name, text in _query_of(request):
        sent.setdefault(name, []).append(text)
    _refuse([name for name, texts in sent.items() if len(texts) > 1 and name not in lists], "is given more than once")
    return {name: _split(texts) if name in lists else texts[0] for name, texts in sent.items()}


def _split(texts: list[str]) -> list[str]:
    """Read `topics=a,b` as `topics=a&topics=b`. A list in a body is never split: its items may have commas."""
    if len(texts) > 1 or "," not in texts[0] or texts[0].lstrip().startswith("["):
        return texts
    return [part.strip() for part in texts[0].split(",") if part.strip()]


def _from_body(operation: Operation, request: Request) -> dict[str, Any]:
    if request.META.get("QUERY_STRING"):
        raise MalformedBody(f"The arguments of {request.method} go into the JSON body; it takes no query.")
    body = dict(request.data)
    _check_types(operation, body, _body_model(operation))
    return body


def _check_types(operation: Operation, body: Mapping[str, Any], model: type[BaseModel]) -> None:
    """Refuse `"5"` where the OpenAPI document says a number: JSON has types, while queries and agents have texts."""
    _refuse([name for name in _lists(operation) if isinstance(body.get(name), str)], "must be a list")
    try:
        model.model_validate_json(json.dumps(body), strict=True)
    except ValidationError as error:
        # JSON that pydantic cannot read has a lone surrogate in it: the gate refuses that by the name of its field.
        if error.errors()[0]["type"] != "json_invalid":
            raise refusal(error, model) from error


@load_once
def _body_model(operation: Operation) -> type[BaseModel]:
    in_path = path_parameters(operation)
    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in operation.arguments.model_fields.items()
        if name not in in_path
    }
    return create_model("Body", __config__=ConfigDict(extra="forbid"), **fields)


def _query_of(request: Request) -> list[tuple[str, str]]:
    # What is not UTF-8 becomes lone surrogates here, so that validation refuses it by the name of its field.
    try:
        return parse_qsl(
            request.META.get("QUERY_STRING", ""),
            keep_blank_values=True,
            errors="surrogateescape",
            max_num_fields=MOST_PARAMETERS,
        )
    except ValueError as error:
        raise MalformedBody(f"The query has too many parameters; the limit is {MOST_PARAMETERS}.") from error


@cache
def _lists(operation: Operation) -> frozenset[str]:
    """The arguments that are lists: a query says their names several times."""
    properties: dict[str, Any] = operation.input_schema.get("properties", {})
    return frozenset(name for name, schema in properties.items() if schema.get("type") == "array")


def _refuse(names: list[str], message: str) -> None:
    if names:
        raise Invalid.of_all([{"field": name[:100], "message": message} for name in names])

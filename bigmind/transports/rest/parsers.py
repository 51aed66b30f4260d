"""JSON, strictly: what two readers could understand differently is refused instead of guessed."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from django.conf import settings
from rest_framework.parsers import BaseParser

from bigmind.core.nesting import JSON_DEPTH, is_too_deep
from bigmind.transports.rest.problems import MalformedBody, TooLarge

IMPORT_BYTES = 4 * 1024 * 1024
TOO_DEEP = f"The JSON is nested too deep; the limit is {JSON_DEPTH} levels."


class StrictJSONParser(BaseParser):
    """Reads a JSON object in UTF-8: each name once, finite numbers, up to 64 levels deep."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the object.

        Raises:
            Malformed: it is not such an object.
            TooLarge: there is more of it than the route takes.
        """
        limit = (parser_context or {}).get("body_bytes", settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
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
        Malformed: it is not JSON in UTF-8, says a name twice, is nested too deep, or has a number that is no number.
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

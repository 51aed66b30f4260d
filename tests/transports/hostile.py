"""What nobody should send (T3): values for every argument of every operation, whichever transport carries them."""

import math
from collections.abc import Iterator
from functools import reduce
from typing import Any

from accounts.keys import MOST_PER_MINUTE, NewKey
from accounts.models import SCOPES, Role
from bigmind.core.operations import Operation
from bigmind.transports.rest.examples import example_arguments
from tests.factories import make_key, make_user

DEPTH = 50
"""Of lists in lists; REST reads up to 64."""
REFUSED_EVERYWHERE: dict[str, Any] = {
    "NUL": "a\0b",
    "control character": "a\x1bb",
    "half a surrogate pair": "\ud800",
    "escape sequence": "\x1b[31mred",
    "delete": "\x7f",
}
OUT_OF_PLACE: dict[str, Any] = {
    "an object": {"a": 1},
    "an object of what no text may have": {"a\0": {"\ud800": "\x1b"}},
    "a list in a list": [["a"]],
    "lists in lists": reduce(lambda inner, _: [inner], range(DEPTH), "a"),
    "true": True,
    "a number of more than 64 bits": 2**70,
    "a huge number": 10**400,
    "a small number": -(10**400),
    "less than nothing": -1,
    "a broken number": 0.5,
    "a hundred thousand characters": "x" * 100_000,
    "operators": "& | ! <-> :* '\"; DROP TABLE users; --",
    "wildcards": "%_*?[a-z]\\",
    "templates": "{{ 7*7 }}{% include '/etc/passwd' %}${7*7}%(x)s{0}",
    "an unknown word": "no-such-choice",
    "right-to-left": "\u202eabc",
    "a time zone that no place has": "2026-01-01T00:00:00+21:37",
    "before the first year": "0001-01-01T00:00:00+23:59",
    "after the last year": "9999-12-31T23:59:59-23:59",
    "nothing": "",
    "null": None,
}
NO_NUMBERS: dict[str, Any] = {
    "1e400": math.inf,
    "NaN": math.nan,
    "-Infinity within": {"a": {"a": [-math.inf]}},
}
"""What Python reads in JSON although JSON has no such numbers; REST reads none of it."""
UNREADABLE: dict[str, bytes] = {
    "bytes that are no UTF-8": b'"\xff\xfe"',
    "half a surrogate pair": b'"\\ud800"',
    "a NUL": b'"a\\u0000b"',
    "a bare NUL": b'"a\0b"',
    "1e400": b"1e400",
    "NaN": b"NaN",
    "five thousand digits": b"9" * 5_000,
    "a hundred thousand levels": b"[" * 100_000 + b"]" * 100_000,
    "no end": b'"',
}
"""As bytes in place of a value: some of it no reader of JSON reads."""
KEPT = (
    "naïve — “quoted” 🐘", "e\u0301 stays two characters", "  kept \n as it\tis  ", "\u202eflagged, not refused",
    "<b>&amp;", "'; DROP TABLE users; -- & | ! :* % _ * \\",
)  # fmt: skip
"""Texts that are strange and welcome: they come back as they were."""


def is_cleaned(operation: Operation, kind: str) -> bool:
    """Whether this operation takes what others refuse: an error is sent as the terminal had it, colours and all."""
    return (operation.name, kind) == ("lesson_for", "escape sequence")


def key_for_everything() -> NewKey:
    """An admin's key whose limit nobody reaches: what is refused is refused for what was sent, not for who sent it."""
    return make_key(make_user(role=Role.ADMIN), scopes=SCOPES, per_minute=MOST_PER_MINUTE)


def with_each_place_taken(operation: Operation, value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each argument with the example in which `value` stands there, or somewhere within."""
    example = example_arguments(operation)
    for name in operation.arguments.model_fields:
        yield name, {**example, name: value}
        if isinstance(example.get(name), dict | list):
            for inner in _with_each_leaf_taken(example[name], value):
                yield name, {**example, name: inner}


def _with_each_leaf_taken(node: Any, value: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        for name, child in node.items():
            yield from ({**node, name: inner} for inner in _with_each_leaf_taken(child, value))
    elif isinstance(node, list):
        for place, child in enumerate(node):
            yield from ([*node[:place], inner, *node[place + 1 :]] for inner in _with_each_leaf_taken(child, value))
    else:
        yield value

"""Limits on what is sent: how long texts are, how deep JSON is nested, finite numbers, how many tokens markdown has."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from markdown_it.token import Token

from bigmind.core.errors import Invalid

CONTENT_BYTES = 64 * 1024
"""Of the text of a fact, a note, an entry. Bytes, because they are what is stored, whatever the script."""

TITLE_CHARS = 200
COMPANY_TITLE_CHARS = 80
QUERY_CHARS = 2_000
SENTENCE_CHARS = 2_000
TAG_CHARS = 100
TAGS = 50
PAGE_ROWS = 200
CURSOR_CHARS = 8_000
JSON_DEPTH = 64
IMPORT_BYTES = 4 * 1024 * 1024
"""Of what an import takes at once, as a request or as a file."""


def is_too_deep(found: Any) -> bool:
    """Whether there are more than 64 levels. Not recursive: a hostile depth would exhaust the stack."""
    return sum(1 for _ in _levels(found)) > JSON_DEPTH


def find_json_problem(argument: Any, name: str) -> tuple[str, str] | None:
    """Return the path and the reason of the first value that cannot be stored; None when the argument is fine.

    The path looks like `tables.0.fields.Name.length`, as in every refusal. Python's parser accepts 1e400 and NaN, which
    PostgreSQL's `jsonb` does not.
    """
    if is_too_deep(argument):
        return name, f"is nested too deep; the limit is {JSON_DEPTH} levels"
    place = next(_not_finite(argument, name), None)
    return (place, "is a number that is not finite") if place else None


def _not_finite(node: Any, place: str) -> Iterator[str]:
    if isinstance(node, float) and not math.isfinite(node):
        yield place
    elif isinstance(node, dict | list):
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(child, float | dict | list):
                yield from _not_finite(child, f"{place}.{key}")


def _levels(found: Any) -> Iterator[list[Any]]:
    """Yield the containers of each level, down to one level below the limit."""
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(JSON_DEPTH + 1):
        if not level:
            return
        yield level
        level = [child for node in level for child in _children(node) if isinstance(child, dict | list)]


def _children(node: Any) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node


class BoundedTokens(list[Token]):
    """Tokens up to a limit: a few bytes of nested lists or empty cells make a hundred times as many bytes of tokens."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def append(self, token: Token) -> None:
        if len(self) >= self.limit:
            raise Invalid(f"has more than {self.limit:,} pieces of markdown.", hint="Split the file.")
        super().append(token)

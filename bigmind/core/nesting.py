"""JSON as it may arrive in an argument: not too deep, and with numbers that are numbers."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

JSON_DEPTH = 64


def is_too_deep(found: Any) -> bool:
    """Whether there are more than 64 levels. Looked at one by one, not by recursion: the depth is what is in doubt."""
    return sum(1 for _ in _levels(found)) > JSON_DEPTH


def trouble_in(argument: Any) -> str | None:
    """Say why a list or an object may not be kept, or nothing. Python reads 1e400 and NaN, which no database takes."""
    if is_too_deep(argument):
        return f"is nested too deep; the limit is {JSON_DEPTH} levels"
    for level in _levels(argument):
        if any(isinstance(leaf, float) and not math.isfinite(leaf) for node in level for leaf in _children(node)):
            return "has a number that is not finite"
    return None


def _levels(found: Any) -> Iterator[list[Any]]:
    """Yield the containers of each level, down to one more than may be."""
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(JSON_DEPTH + 1):
        if not level:
            return
        yield level
        level = [child for node in level for child in _children(node) if isinstance(child, dict | list)]


def _children(node: Any) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node

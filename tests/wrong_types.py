"""Documents in which one value is of another type than it should be."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

OTHERS: tuple[Any, ...] = (None, True, 1e300, "//[", "2024-05-01T10:00:00", [], [[]], {"a": {}})
"""`//[` is no address that can be taken apart, and a moment without a zone cannot be compared with one that has one."""


def spoilt(document: Any) -> Iterator[Any]:
    """Yield a document of JSON once for each of its values and each type that this is not to be of."""
    for at in _places(document):
        for other in OTHERS:
            yield _with(document, at, other)


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in inside:
        yield from _places(inner, (*at, name))


def _with(document: Any, at: tuple[Any, ...], other: Any) -> Any:
    if not at:
        return other
    changed = deepcopy(document)
    around = changed
    for name in at[:-1]:
        around = around[name]
    around[at[-1]] = other
    return changed

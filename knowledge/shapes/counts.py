"""Replies that count kinds of memory: a kind that has no field there gets one by its row in the registry."""

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from pydantic import create_model

from .base import Shape


class CountsShape(Shape):
    """How much there is of some kinds, each by the label for all of it."""

    added: ClassVar[tuple[str, ...]] = ()

    @property
    def others(self) -> list[tuple[str, int]]:
        """The kinds that were added, and how much there is of each."""
        return [(name.replace("_", " "), getattr(self, name)) for name in self.added]


AnyCounts = TypeVar("AnyCounts", bound=CountsShape)


def count_all(shape: type[AnyCounts], kinds: Iterable[str]) -> type[AnyCounts]:
    """Return the reply with a count of each of these kinds, also of those that it does not name itself."""
    added = tuple(kind for kind in kinds if kind not in shape.model_fields)
    if not added:
        return shape
    counts: dict[str, Any] = dict.fromkeys(added, (int, ...))
    grown = create_model(shape.__name__, __base__=shape, __doc__=shape.__doc__, **counts)
    grown.added = added
    return grown

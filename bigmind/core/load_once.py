"""Values that take long to load: computed once in a process, however many threads need them at the same time."""

from collections.abc import Callable, Hashable
from functools import update_wrapper
from threading import RLock
from typing import Generic, ParamSpec, TypeVar, cast

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


class load_once(Generic[Arguments, Value]):
    """Remember what a function returns. While one thread computes it, the others wait.

    `functools.cache` holds no lock: threads that meet an empty cache each load the same model, at the same time. Use
    that one for what is quicker than a millisecond. An exception is not remembered, so the next call tries again.
    """

    def __init__(self, load: Callable[Arguments, Value]) -> None:
        self._load = load
        self._lock = RLock()  # A value may be made from others of the same function.
        self._values: dict[Hashable, Value] = {}
        update_wrapper(cast("Callable[..., object]", self), load)

    def __call__(self, *arguments: Arguments.args, **named: Arguments.kwargs) -> Value:
        key = (arguments, *named.items())
        if key not in self._values:
            with self._lock:
                if key not in self._values:
                    self._values[key] = self._load(*arguments, **named)
        return self._values[key]

    def cache_clear(self) -> None:
        """Forget the values."""
        self._values.clear()

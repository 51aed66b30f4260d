"""Finds every function of the code that is given a text, and which of them the texts of tests/pathological.py reach."""

import inspect
import sys
from collections.abc import Iterable
from types import CodeType, FrameType, FunctionType
from typing import Any

from tests.core.patterns import modules_of_the_packages
from tests.pathological import ENTRANCES, meet

TEXTS = {"text", "raw", "content", "markdown", "output", "line", "document", "source", "body", "message", "prompt"}
"""What a parameter is called that takes a text of any length."""
TYPES = {"str", "bytes", "Source"}
ELSEWHERE = (".management", ".environment", ".migrations", "bigmind.embedded", "bigmind.backup", ".models")


def every_text_function() -> dict[str, CodeType]:
    """Return each public function that takes a text, by its module and name."""
    found = {}
    for module in modules_of_the_packages():
        if not any(part in module.__name__ for part in ELSEWHERE):
            for name, value in vars(module).items():
                if _is_ours(value, module.__name__) and not name.startswith("_") and _takes_text(value):
                    found[f"{module.__name__}.{name}"] = inspect.unwrap(value).__code__
    return found


def code_reached(texts: Iterable[str]) -> set[CodeType]:
    """Return the code that runs when every entrance meets these texts."""
    reached: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            reached.add(frame.f_code)

    kept = list(texts)
    sys.setprofile(note)
    try:
        for entrance in ENTRANCES:
            for text in kept:
                meet(entrance, text)
    finally:
        sys.setprofile(None)
    return reached


def _is_ours(value: object, module: str) -> bool:
    return isinstance(value, FunctionType) and value.__module__ == module


def _takes_text(function: FunctionType) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(
        one.name in TEXTS and str(getattr(one.annotation, "__name__", one.annotation)) in TYPES for one in parameters
    )

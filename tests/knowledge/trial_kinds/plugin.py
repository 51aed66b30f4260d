"""A plugin of pytest that adds the rows of the trial kinds to sources of BigMind before these are imported."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from .rows import ROWS


class _WithRows(SourceFileLoader):
    """Loads a module with the rows. What was compiled of it without them is left alone."""

    def path_stats(self, path: str) -> Any:
        raise OSError

    def get_data(self, path: str) -> bytes:
        text = super().get_data(path).decode()
        for line, rows in ROWS[self.name]:
            assert text.count(line) == 1, f"{path} has no line {line!r} any more"
            text = text.replace(line, rows + line)
        return text.encode()


class _Finder:
    """Finds the modules that get rows."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in ROWS else None
        if spec and spec.origin:
            spec.loader = _WithRows(name, spec.origin)
        return spec


assert not ROWS.keys() & sys.modules.keys(), "BigMind was imported before its rows could be added."
sys.meta_path.insert(0, _Finder)  # type: ignore[arg-type]

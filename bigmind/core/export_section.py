"""Section: a part of what everybody here shares, as the command `export` writes it to a folder of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ExportSection:
    """One part of what everybody here shares.

    Attributes:
        write: Writes its files below a folder, and returns how many items are in them.
        taken_back_by: The command that takes them back.
    """

    name: str
    title: str
    write: Callable[[Path], int]
    taken_back_by: str

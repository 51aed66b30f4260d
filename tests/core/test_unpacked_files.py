"""What is kept unpacked is read again from its package where the file is not to be used."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bigmind.core.unpacked_files import read_unpacked


class Kept:
    """A value with an array."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = np.asarray(numbers)


class Gone(Kept):
    """One whose class a later version of its package does not have."""


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.UNPACKED = tmp_path
    return tmp_path


def _read(numbers: list[int], version: str = "1") -> list[int]:
    return read_unpacked("kept", version, lambda: Kept(numbers)).numbers.tolist()


def test_it_is_read_from_its_package_once(folder: Path) -> None:
    assert _read([1, 2]) == [1, 2]
    assert _read([3]) == [1, 2]
    assert _read([3], version="2") == [3]


@pytest.mark.parametrize("damage", [b"", b"no json\n", b'{"version": 1}\n'])
def test_a_damaged_file_is_replaced(folder: Path, damage: bytes) -> None:
    _read([1])
    (folder / "kept").write_bytes(damage)

    assert _read([2]) == [2]
    assert _read([3]) == [2]


def test_a_file_whose_class_is_gone_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_unpacked("kept", "1", lambda: Gone([1]))
    monkeypatch.delattr(sys.modules[__name__], "Gone")

    assert _read([2]) == [2]
    assert _read([3]) == [2]

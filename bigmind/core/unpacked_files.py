"""What takes long to read out of a package: kept in a file, whose arrays are mapped into memory and so shared."""

import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TypeVar, cast
from zlib import crc32

import numpy as np
from django.conf import settings

Value = TypeVar("Value")
ALIGNED = 64
"""Arrays begin at a multiple of this, as processors read them fastest."""


def read_unpacked(name: str, version: str, read: Callable[[], Value]) -> Value:
    """Return what `read` returns, from a file of this name if one is kept, and keep it there otherwise.

    Arrays come as views of the file: their pages are read when needed, and all processes have them in memory once. A
    file that is damaged, or of another version, is replaced; where the disk refuses it, nothing is kept.
    """
    path, version = Path(settings.UNPACKED) / name, f"{version} {np.__version__} {sys.version}"
    # The last three: its classes are those of another version of the package.
    with suppress(OSError, ValueError, LookupError, AttributeError, ImportError, pickle.UnpicklingError):
        return cast("Value", _read(path, version))
    value = read()
    with suppress(OSError):
        _write(path, version, value)
        return cast("Value", _read(path, version))
    return value


def _read(path: Path, version: str) -> object:
    """Read a file: a line of JSON, the pickled value, and its arrays.

    Raises:
        OSError, ValueError, LookupError: it is not there, damaged, or of another version.
    """
    with path.open("rb") as file:
        head = json.loads(file.readline(ALIGNED**2))
        places = [*_places(file.tell(), head["sizes"])]
        mapped = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
    value, *arrays = (mapped[place] for place in places)
    if (head["version"], head["sum"], places[-1].stop) != (version, crc32(value), len(mapped)):
        raise ValueError("It is damaged or of another version.")
    # A file of our own, in the folder that also has the key of this BigMind.
    return pickle.loads(value, buffers=arrays)  # noqa: S301


def _places(begin: int, sizes: Sequence[int]) -> Iterator[slice]:
    for size in sizes:
        begin += -begin % ALIGNED
        yield slice(begin, begin + size)
        begin += size


def _write(path: Path, version: str, value: object) -> None:
    """Write a file that is there as a whole or not at all, also after a power failure. Several processes may do so."""
    arrays: list[pickle.PickleBuffer] = []
    parts = [memoryview(pickle.dumps(value, 5, buffer_callback=arrays.append)), *(one.raw() for one in arrays)]
    sizes = [len(part) for part in parts]
    own = path.with_name(f"{path.name}-{os.getpid()}")
    try:
        with own.open("wb") as file:
            file.write(json.dumps({"version": version, "sum": crc32(parts[0]), "sizes": sizes}).encode() + b"\n")
            for place, part in zip(_places(file.tell(), sizes), parts, strict=True):
                file.write(bytes(place.start - file.tell()))
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        own.replace(path)
    finally:
        own.unlink(missing_ok=True)
